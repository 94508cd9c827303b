package store

import (
	"encoding/json"
	"fmt"
	"reflect"
)

// core is a table without its type. All the work is here, once: Table[T] and
// Index[T] only turn values into T and back, because what is generic is
// compiled again in every package that uses it.
type core struct {
	store   *Store
	bucket  string
	record  reflect.Type
	id      func(any) string
	rows    map[string]*row
	all     *tree
	indexes []*tree
	feeds   map[*Feed]struct{}
	named   bool
}

// row is a record; it is replaced, never changed.
type row struct {
	seq   uint64
	value any
}

func newCore(s *Store, bucket string, record reflect.Type, id func(any) string) *core {
	c := &core{store: s, bucket: bucket, record: record, id: id, rows: map[string]*row{}, feeds: map[*Feed]struct{}{}}
	field, ok := record.FieldByName("Name")
	c.named = ok && field.Type.Kind() == reflect.String
	c.all = c.index(func(any) []string { return []string{""} })
	err := s.load(bucket, func(id string, seq uint64, encoded []byte) error {
		value, err := c.decode(encoded)
		if err != nil {
			return fmt.Errorf("record %s: %w", id, err)
		}
		c.replace(id, &row{seq: seq, value: value})
		return nil
	})
	if err != nil && s.err == nil {
		s.err = fmt.Errorf("loading %s: %w", bucket, err)
	}
	s.tables = append(s.tables, c)
	return c
}

func (c *core) decode(encoded []byte) (any, error) {
	value := reflect.New(c.record)
	if err := json.Unmarshal(encoded, value.Interface()); err != nil {
		return nil, err
	}
	return value.Elem().Interface(), nil
}

// copy takes a record through JSON, so that nothing is shared with the
// original and what is read is always what would come back from the file.
func (c *core) copy(value any) (copied any, encoded []byte, err error) {
	if encoded, err = json.Marshal(value); err == nil {
		copied, err = c.decode(encoded)
	}
	return copied, encoded, err
}

func (c *core) put(tx *Tx, value any) {
	id := c.id(value)
	copied, encoded, err := c.copy(value)
	if err != nil {
		tx.fail(fmt.Errorf("encoding %s %s: %w", c.bucket, id, err))
		return
	}
	r := &row{value: copied}
	if old := c.rows[id]; old != nil {
		r.seq = old.seq
	} else {
		c.store.seq++
		r.seq = c.store.seq
	}
	c.write(tx, id, r, encoded)
}

func (c *core) change(tx *Tx, id string, edit func(any) any) bool {
	old, ok := c.rows[id]
	if !ok {
		return false
	}
	copied, _, err := c.copy(old.value)
	if err != nil {
		tx.fail(fmt.Errorf("copying %s %s: %w", c.bucket, id, err))
		return true
	}
	edited := edit(copied)
	if now := c.id(edited); now != id {
		tx.fail(fmt.Errorf("changing %s %s: its id became %s", c.bucket, id, now))
		return true
	}
	c.put(tx, edited)
	return true
}

func (c *core) delete(tx *Tx, id string) bool {
	if _, ok := c.rows[id]; !ok {
		return false
	}
	c.write(tx, id, nil, nil)
	return true
}

func (c *core) write(tx *Tx, id string, r *row, encoded []byte) {
	w := write{table: c.bucket, id: id, value: encoded}
	if r != nil {
		w.seq = r.seq
	}
	old := c.replace(id, r)
	tx.writes = append(tx.writes, w)
	tx.undo = append(tx.undo, func() { c.replace(id, old) })
	if len(c.feeds) > 0 {
		tx.notify = append(tx.notify, func() { c.publish(id) })
	}
}

// replace swaps the row of an id, in the indexes too, and returns the old one;
// nil means no row.
func (c *core) replace(id string, r *row) *row {
	old := c.rows[id]
	for _, index := range c.indexes {
		if old != nil {
			index.remove(old)
		}
		if r != nil {
			index.add(r)
		}
	}
	if r == nil {
		delete(c.rows, id)
	} else {
		c.rows[id] = r
	}
	return old
}

// name returns the field Name of the record with the id.
func (c *core) name(id string) (string, bool) {
	r, ok := c.rows[id]
	if !ok || !c.named {
		return "", false
	}
	return reflect.ValueOf(r.value).FieldByName("Name").String(), true
}

// subscribe returns a feed that begins with every record there is.
func (c *core) subscribe() *Feed {
	f := &Feed{dirty: map[string]struct{}{}, wake: make(chan struct{}, 1)}
	c.store.mu.Lock()
	defer c.store.mu.Unlock()
	for _, r := range c.all.each("") {
		f.add(c.id(r.value))
	}
	c.feeds[f] = struct{}{}
	f.close = func() {
		c.store.mu.Lock()
		defer c.store.mu.Unlock()
		delete(c.feeds, f)
	}
	return f
}

func (c *core) publish(id string) {
	for f := range c.feeds {
		f.add(id)
	}
}
