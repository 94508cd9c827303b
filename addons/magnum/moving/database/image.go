package database

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"time"

	"github.com/slipway-sh/slipway/internal/fault"
)

// Image is a database with its rows as they were read, to be written back to.
type Image struct {
	*Database
	tables map[string]*table
}

// Change writes one row.
type Change struct {
	Table string
	// ID is the row's; 0 is a new row.
	ID int64
	// Delete deletes the row.
	Delete bool
	// Set are columns with nil, text, int32, int64, bool or time.Time.
	Set map[string]any
}

// Ref names a row.
type Ref struct {
	Table string
	ID    int64
}

// Work is what is written in one transaction, or not at all.
type Work struct {
	// Guard are rows that must still be as they were read.
	Guard []Ref
	// Changes are made in their order.
	Changes []Change
}

// ParseImage reads a dump as an image.
func ParseImage(name, text string) (*Image, error) {
	tables, err := parseTables(name, text)
	if err != nil {
		return nil, err
	}
	return newImage(tables)
}

func newImage(tables map[string]*table) (*Image, error) {
	d, err := decode(tables)
	if err != nil {
		return nil, err
	}
	return &Image{d, tables}, nil
}

// Has reports whether the schema has a column.
func (i *Image) Has(table, column string) bool {
	t := i.tables[table]
	return t != nil && slices.Contains(t.columns, column)
}

// ID is the id of the row with a UUID, 0 if there is none.
func (i *Image) ID(table, uuid string) int64 {
	t := i.tables[table]
	at, id := slices.Index(t.columns, "uuid"), slices.Index(t.columns, "id")
	for _, row := range t.rows {
		if uuid != "" && row[at] != nil && *row[at] == uuid && row[id] != nil {
			if n, err := strconv.ParseInt(*row[id], 10, 64); err == nil {
				return n
			}
		}
	}
	return 0
}

// find returns the cells of a row, nil if there is none.
func (t *table) find(id int64) []*string {
	at := slices.Index(t.columns, "id")
	for _, row := range t.rows {
		if at >= 0 && row[at] != nil && *row[at] == strconv.FormatInt(id, 10) {
			return row
		}
	}
	return nil
}

// ErrChanged is a row that somebody else wrote while a hand-back was at work.
var ErrChanged = errors.New("somebody else wrote it meanwhile")

// After is what a server makes of work, without one: i was read, and now is what is
// there when it is written.
func (i *Image) After(now *Image, work Work) (*Image, error) {
	for _, ref := range work.Guard {
		if !slices.EqualFunc(i.tables[ref.Table].find(ref.ID), now.tables[ref.Table].find(ref.ID), sameCell) {
			return nil, fault.New(rowName(ref), ErrChanged, stopMagnum)
		}
	}
	tables := map[string]*table{}
	for name, t := range now.tables {
		tables[name] = &table{name: name, columns: t.columns, rows: slices.Clone(t.rows)}
	}
	for _, c := range work.Changes {
		if err := tables[c.Table].change(c); err != nil {
			return nil, err
		}
	}
	return newImage(tables)
}

const stopMagnum = "stop magnum-api and magnum-conductor, and run the command again"

func rowName(ref Ref) string { return fmt.Sprintf("table %s, row %d", ref.Table, ref.ID) }

func sameCell(a, b *string) bool { return a == nil && b == nil || a != nil && b != nil && *a == *b }

// change makes one change to the rows.
func (t *table) change(c Change) error {
	id := slices.Index(t.columns, "id")
	is := func(row []*string) bool { return row[id] != nil && *row[id] == strconv.FormatInt(c.ID, 10) }
	if c.Delete {
		t.rows = slices.DeleteFunc(t.rows, is)
		return nil
	}
	row, at := make([]*string, len(t.columns)), slices.IndexFunc(t.rows, is)
	if c.ID != 0 {
		if at < 0 {
			return fault.New(rowName(Ref{c.Table, c.ID}), ErrChanged, stopMagnum)
		}
		copy(row, t.rows[at])
	} else {
		next := t.last() + 1
		row[id] = cellOf(next)
	}
	for _, name := range slices.Sorted(maps.Keys(c.Set)) {
		column := slices.Index(t.columns, name)
		if column < 0 {
			return fmt.Errorf("table %s has no column %s", t.name, name)
		}
		row[column] = cellOf(c.Set[name])
	}
	if c.ID != 0 {
		t.rows[at] = row
	} else {
		t.rows = append(t.rows, row)
	}
	return nil
}

func (t *table) last() (last int64) {
	at := slices.Index(t.columns, "id")
	for _, row := range t.rows {
		if n, err := strconv.ParseInt(*row[at], 10, 64); err == nil {
			last = max(last, n)
		}
	}
	return last
}

// cellOf is a value as text.
func cellOf(value any) *string {
	text := ""
	switch value := value.(type) {
	case nil:
		return nil
	case time.Time:
		text = value.UTC().Format(time.DateTime)
	default:
		text = fmt.Sprint(value)
	}
	return &text
}
