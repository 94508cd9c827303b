package database

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/slipway-sh/slipway/internal/fault"
)

// Writer writes to a running database.
type Writer struct {
	db       *sql.DB
	name     string
	postgres bool
}

// Open connects to the database. The caller closes it.
func (s *Source) Open() (*Writer, error) {
	if s.address == nil {
		return nil, fault.New(s.Name, errors.New("it is a dump"), "name a running database")
	}
	db, err := connect(s.address)
	if err != nil {
		return nil, fault.New(s.Name, err, "correct the URL")
	}
	return &Writer{db, s.Name, strings.HasPrefix(s.address.Scheme, "postgres")}, nil
}

// Close ends the connections.
func (w *Writer) Close() error { return w.db.Close() }

// written are the tables that a hand-back writes.
func written() []string {
	return []string{"cluster_template", "quotas", "cluster", "nodegroup", "x509keypair"}
}

// Read reads all tables as they are at one moment, and tries whether they may be
// written: an account that only reads is found before anything is held.
func (w *Writer) Read(ctx context.Context) (*Image, error) {
	tables, err := queryAll(ctx, w.db)
	if err != nil {
		return nil, fault.New(w.name, err, "check address, user and password, and that the user may read all tables of Magnum")
	}
	image, err := newImage(tables)
	if err != nil {
		return nil, err
	}
	if err := w.mayWrite(ctx); err != nil {
		return nil, fault.New(w.name, fmt.Errorf("it cannot be written: %w", err), "use the account of Magnum itself, on the server that takes writes, not on a replica")
	}
	return image, nil
}

// mayWrite runs statements that change no row: servers check rights all the same.
func (w *Writer) mayWrite(ctx context.Context) error {
	tx, err := w.db.BeginTx(ctx, nil)
	if err != nil {
		return err
	}
	defer tx.Rollback() //nolint:errcheck // nothing was written
	for _, table := range written() {
		for _, statement := range []string{"INSERT INTO " + table + " SELECT * FROM " + table + " WHERE 1 = 0",
			"UPDATE " + table + " SET updated_at = updated_at WHERE 1 = 0", "DELETE FROM " + table + " WHERE 1 = 0"} {
			if _, err := tx.ExecContext(ctx, statement); err != nil {
				return fmt.Errorf("table %s: %w", table, err)
			}
		}
	}
	return nil
}

// Apply writes work in one transaction: all of it, or nothing. Rows are locked and
// compared with what was read first, and read back before the end.
func (w *Writer) Apply(ctx context.Context, read *Image, work Work) error {
	tx, err := w.db.BeginTx(ctx, nil)
	if err != nil {
		return fault.New(w.name, fmt.Errorf("connecting: %w", err), "run the command again: it continues where it was")
	}
	defer tx.Rollback() //nolint:errcheck // after a commit it does nothing
	for _, ref := range work.Guard {
		row, err := w.row(ctx, tx, read, ref)
		if err != nil {
			return err
		}
		if row == nil || !slices.EqualFunc(row, read.tables[ref.Table].find(ref.ID), sameCell) {
			return fault.New(rowName(ref), ErrChanged, stopMagnum)
		}
	}
	for _, change := range work.Changes {
		if err := w.change(ctx, tx, read, change); err != nil {
			return fault.New(fmt.Sprintf("%s, table %s", w.name, change.Table), err, "correct the cause and run the command again: nothing of this transaction is kept")
		}
	}
	if err := tx.Commit(); err != nil {
		return fault.New(w.name, fmt.Errorf("writing: %w", err), "run the command again: it continues where it was")
	}
	return nil
}

// row locks a row and reads its cells, in the order of the image's columns.
func (w *Writer) row(ctx context.Context, tx *sql.Tx, read *Image, ref Ref) ([]*string, error) {
	columns := read.tables[ref.Table].columns
	t, err := queryRows(ctx, tx, ref.Table, "SELECT "+strings.Join(columns, ", ")+" FROM "+ref.Table+" WHERE id = "+strconv.FormatInt(ref.ID, 10)+" FOR UPDATE")
	if err != nil {
		return nil, fault.New(rowName(ref), err, "run the command again")
	}
	if len(t.rows) == 0 {
		return nil, nil
	}
	return t.rows[0], nil
}

func (w *Writer) change(ctx context.Context, tx *sql.Tx, read *Image, c Change) error {
	if c.Delete {
		_, err := tx.ExecContext(ctx, "DELETE FROM "+c.Table+" WHERE id = "+strconv.FormatInt(c.ID, 10))
		return err
	}
	names, arguments := slices.Sorted(maps.Keys(c.Set)), []any{}
	var parts []string
	for i, name := range names {
		if !read.Has(c.Table, name) {
			return fmt.Errorf("column %s does not exist", name)
		}
		place := w.place(i + 1)
		if c.ID != 0 {
			place = name + " = " + place
		}
		parts, arguments = append(parts, place), append(arguments, c.Set[name])
	}
	list := strings.Join(parts, ", ")
	statement := "UPDATE " + c.Table + " SET " + list + " WHERE id = " + strconv.FormatInt(c.ID, 10)
	if c.ID == 0 {
		statement = "INSERT INTO " + c.Table + " (" + strings.Join(names, ", ") + ") VALUES (" + list + ")"
	}
	if _, err := tx.ExecContext(ctx, statement, arguments...); err != nil {
		return err
	}
	return w.readBack(ctx, tx, read, c)
}

// place is where an argument goes in a statement.
func (w *Writer) place(n int) string {
	if w.postgres {
		return "$" + strconv.Itoa(n)
	}
	return "?"
}

// readBack compares what was written with what the server keeps of it: one that is
// not strict cuts what is too long.
func (w *Writer) readBack(ctx context.Context, tx *sql.Tx, read *Image, c Change) error {
	where, arguments := "id = "+strconv.FormatInt(c.ID, 10), []any(nil)
	if c.ID == 0 {
		where, arguments = "uuid = "+w.place(1), []any{c.Set["uuid"]}
		if c.Table == "quotas" { // which have none
			where, arguments = "project_id = "+w.place(1)+" AND resource = "+w.place(2), []any{c.Set["project_id"], c.Set["resource"]}
		}
	}
	for _, name := range slices.Sorted(maps.Keys(c.Set)) {
		t, err := queryRows(ctx, tx, c.Table, "SELECT "+name+" FROM "+c.Table+" WHERE "+where, arguments...)
		if err != nil {
			return err
		}
		if len(t.rows) != 1 || !kept(c.Set[name], t.rows[0][0]) {
			return fmt.Errorf("column %s: the server keeps something else than was written: it may be too long", name)
		}
	}
	return nil
}

// kept compares a value with a cell.
func kept(value any, cell *string) bool {
	switch value := value.(type) {
	case time.Time:
		return cell != nil
	case bool:
		have, err := strconv.ParseBool(*cellOr(cell))
		return err == nil && have == value
	}
	return sameCell(cellOf(value), cell)
}

func cellOr(cell *string) *string {
	if cell == nil {
		none := ""
		return &none
	}
	return cell
}
