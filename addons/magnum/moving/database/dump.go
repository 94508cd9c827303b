package database

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/slipway-sh/slipway/internal/fault"
)

// ends are the last words of dumps: one without them is not complete.
func ends() []string {
	return []string{"-- Dump completed", "-- PostgreSQL database dump complete"}
}

// Parse reads a plain dump by mysqldump, mariadb-dump or pg_dump.
func Parse(name, text string) (*Database, error) {
	tables, err := parseTables(name, text)
	if err != nil {
		return nil, err
	}
	return decode(tables)
}

func parseTables(name, text string) (map[string]*table, error) {
	if strings.HasPrefix(text, "PGDMP") || strings.HasPrefix(text, "\x1f\x8b") || strings.HasPrefix(text, "\x28\xb5\x2f\xfd") {
		return nil, fault.New(name, errors.New("it is compressed, or in a format of pg_dump's own"), "unpack it first; dump PostgreSQL with pg_dump --format=plain")
	}
	d := &dump{scanner: scanner{text: text}, tables: map[string]*table{}}
	if err := d.read(); err != nil {
		return nil, fault.New(name, err, again)
	}
	tail := text[max(0, len(text)-4096):]
	if !slices.ContainsFunc(ends(), func(end string) bool { return strings.Contains(tail, end) }) {
		return nil, fault.New(name, errors.New("its end is missing: no line says that the dump is complete"), again+"; do not use --compact or --skip-comments")
	}
	return d.tables, nil
}

// dump collects the tables of a dump.
type dump struct {
	scanner
	tables map[string]*table
}

func (d *dump) read() error {
	for d.space(); !d.end(); d.space() {
		var err error
		switch {
		case d.text[d.at] == '\\': // psql's own commands
			d.line()
		case d.take("CREATE TABLE"):
			err = d.create()
		case d.take("INSERT INTO"):
			err = d.insert()
		case d.take("COPY "):
			err = d.copied()
		default:
			err = d.skip()
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// create reads the columns of a table, in their order.
func (d *dump) create() error {
	d.take("IF NOT EXISTS")
	name, err := d.name()
	if err != nil {
		return err
	}
	if !slices.Contains(wantedTables(), name) {
		return d.skip()
	}
	if d.tables[name] != nil {
		return d.wrong("table %s is there a second time: dump Magnum's database alone", name)
	}
	t := &table{name: name}
	d.tables[name] = t
	if !d.take("(") {
		return d.wrong("the columns of table %s are missing", name)
	}
	for {
		column, err := d.name()
		if err != nil {
			return err
		}
		if !slices.Contains([]string{"PRIMARY", "UNIQUE", "KEY", "CONSTRAINT", "FOREIGN", "CHECK", "INDEX"}, column) {
			t.columns = append(t.columns, column)
		}
		last, err := d.definition()
		if err != nil {
			return err
		}
		if last {
			return d.skip()
		}
	}
}

// definition goes over what stands behind a column's name; last says that it was
// the last one.
func (d *dump) definition() (last bool, err error) {
	for depth := 0; !d.end(); d.at++ {
		switch c := d.text[d.at]; {
		case c == '\'':
			if _, err := d.quoted(); err != nil {
				return false, err
			}
			d.at--
		case c == '(':
			depth++
		case c == ')' && depth == 0:
			d.at++
			return true, nil
		case c == ')':
			depth--
		case c == ',' && depth == 0:
			d.at++
			return false, nil
		}
	}
	return false, d.wrong("a table's definition has no end")
}

// target reads which table and columns data is for; nil is a table that is not
// wanted.
func (d *dump) target() (*table, []string, error) {
	name, err := d.name()
	if err != nil {
		return nil, nil, err
	}
	if !slices.Contains(wantedTables(), name) {
		return nil, nil, nil
	}
	t := d.tables[name]
	if t == nil {
		return nil, nil, d.wrong("table %s has rows and no definition: dump without --no-create-info", name)
	}
	columns := t.columns
	d.space()
	if !d.end() && d.text[d.at] == '(' {
		if columns, err = d.names(); err != nil {
			return nil, nil, err
		}
	}
	return t, columns, nil
}

// insert reads the rows of INSERT INTO t VALUES (…),(…);
func (d *dump) insert() error {
	t, columns, err := d.target()
	if err != nil {
		return err
	}
	if t == nil {
		return d.skip()
	}
	if strings.Contains(d.text[:min(len(d.text), 200)], "PostgreSQL") {
		return d.wrong("rows are INSERT statements: dump PostgreSQL without --inserts")
	}
	if !d.take("VALUES") {
		return d.wrong("VALUES is missing")
	}
	for {
		row, err := d.values()
		if err != nil {
			return err
		}
		if err := t.add(columns, row); err != nil {
			return d.wrong("%v", err)
		}
		if d.take(";") {
			return nil
		}
		if !d.take(",") {
			return d.wrong("a row of table %s has no end", t.name)
		}
	}
}

// values reads one row in parentheses.
func (d *dump) values() ([]*string, error) {
	if !d.take("(") {
		return nil, d.wrong("a row is missing")
	}
	var row []*string
	for {
		value, err := d.value()
		if err != nil {
			return nil, err
		}
		row = append(row, value)
		if d.take(")") {
			return row, nil
		}
		if !d.take(",") {
			return nil, d.wrong("a value has no end")
		}
	}
}

func (d *dump) value() (*string, error) {
	d.take("_binary")
	d.space()
	from := d.at
	switch {
	case d.end():
		return nil, d.wrong("the dump ends in a row")
	case d.text[d.at] == '\'':
		text, err := d.quoted()
		return &text, err
	case d.take("NULL"):
		return nil, nil
	}
	for !d.end() && (isName(d.text[d.at]) || d.text[d.at] == '.' || d.text[d.at] == '-') {
		d.at++
	}
	text := d.text[from:d.at]
	if text == "" || strings.Trim(text, "-.0123456789eE") != "" {
		return nil, d.wrong("a value is neither a number, a text nor NULL")
	}
	return &text, nil
}

// copied reads the lines of COPY t (…) FROM stdin;
func (d *dump) copied() error {
	t, columns, err := d.target()
	if err != nil {
		return err
	}
	d.line()
	for !d.end() {
		line := d.line()
		if line == `\.` {
			return nil
		}
		if t == nil {
			continue
		}
		var row []*string
		for _, cell := range strings.Split(line, "\t") {
			row = append(row, copyCell(cell))
		}
		if err := t.add(columns, row); err != nil {
			return d.wrong("%v", err)
		}
	}
	return d.wrong("a table's rows have no end")
}

// copyCell is a value of COPY's text format (PostgreSQL, "COPY").
func copyCell(cell string) *string {
	if cell == `\N` {
		return nil
	}
	var value strings.Builder
	for i := 0; i < len(cell); i++ {
		c := cell[i]
		if c == '\\' && i+1 < len(cell) {
			i++
			c = unescaped(cell[i])
		}
		value.WriteByte(c)
	}
	text := value.String()
	return &text
}

// add adds a row whose values are in the order of columns.
func (t *table) add(columns []string, row []*string) error {
	if len(row) != len(columns) {
		return fmt.Errorf("a row of table %s has %d values for %d columns", t.name, len(row), len(columns))
	}
	ordered := make([]*string, len(t.columns))
	for i, column := range columns {
		at := slices.Index(t.columns, column)
		if at < 0 {
			return fmt.Errorf("table %s has no column %s", t.name, column)
		}
		ordered[at] = row[i]
	}
	t.rows = append(t.rows, ordered)
	return nil
}
