package store_test

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"testing"

	"github.com/slipway-sh/slipway/internal/sandbox/store"
)

type port struct {
	ID      string            `json:"id"`
	Name    string            `json:"name"`
	Network string            `json:"network_id"`
	Groups  []string          `json:"groups"`
	Extra   map[string]string `json:"extra"`
	memory  string
}

type ports struct {
	*store.Store
	all     *store.Table[port]
	network *store.Index[port]
	group   *store.Index[port]
}

func open(t *testing.T, path string) ports {
	t.Helper()
	s, err := store.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	p := ports{Store: s, all: store.NewTable(s, "ports", func(p port) string { return p.ID })}
	p.network = p.all.Index(func(p port) string { return p.Network })
	p.group = p.all.IndexEach(func(p port) []string { return p.Groups })
	if err := s.Ready(); err != nil {
		t.Fatal(err)
	}
	return p
}

func (p ports) put(t *testing.T, records ...port) {
	t.Helper()
	err := p.Update(func(tx *store.Tx) error {
		for _, record := range records {
			p.all.Put(tx, record)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
}

// ids reads what a table or index holds.
func (p ports) ids(t *testing.T, index *store.Index[port], value string) []string {
	t.Helper()
	found := []string{}
	_ = p.View(func(r store.Reader) error {
		seq := p.all.All(r)
		if index != nil {
			seq = index.Each(r, value)
		}
		for record := range seq {
			found = append(found, record.ID)
		}
		return nil
	})
	return found
}

func expect(t *testing.T, what string, got, want []string) {
	t.Helper()
	if !slices.Equal(got, want) {
		t.Errorf("%s: got %v, want %v", what, got, want)
	}
}

func TestIndexesFollowChanges(t *testing.T) {
	t.Parallel()
	p := open(t, "")
	p.put(t, port{ID: "b", Network: "n1", Groups: []string{"g1", "g2"}}, port{ID: "a", Network: "n1"}, port{ID: "c", Network: "n2", Groups: []string{"g2"}})
	expect(t, "all, in the order of creation", p.ids(t, nil, ""), []string{"b", "a", "c"})
	expect(t, "network n1", p.ids(t, p.network, "n1"), []string{"b", "a"})
	expect(t, "group g2", p.ids(t, p.group, "g2"), []string{"b", "c"})
	p.put(t, port{ID: "b", Network: "n2", Groups: []string{"g1"}})
	expect(t, "network n2 after a move", p.ids(t, p.network, "n2"), []string{"b", "c"})
	expect(t, "group g2 after a move", p.ids(t, p.group, "g2"), []string{"c"})
	_ = p.Update(func(tx *store.Tx) error { p.all.Delete(tx, "c"); return nil })
	expect(t, "network n2 after a delete", p.ids(t, p.network, "n2"), []string{"b"})
}

func TestRollback(t *testing.T) {
	t.Parallel()
	boom := errors.New("boom")
	cases := map[string]func(p ports, tx *store.Tx) error{
		"error":     func(ports, *store.Tx) error { return boom },
		"panic":     func(ports, *store.Tx) error { panic(boom) },
		"new id":    func(p ports, tx *store.Tx) error { p.all.Change(tx, "a", func(r *port) { r.ID = "z" }); return nil },
		"after all": func(p ports, tx *store.Tx) error { p.all.Delete(tx, "a"); p.all.Delete(tx, "b"); return boom },
	}
	for name, end := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			path := filepath.Join(t.TempDir(), "state.db")
			p := open(t, path)
			p.put(t, port{ID: "a", Network: "n1"}, port{ID: "b", Network: "n1"})
			feed := p.all.Subscribe()
			defer feed.Close()
			err := attempt(p, end)
			if err == nil {
				t.Fatal("the transaction succeeded")
			}
			check := func(p ports) {
				expect(t, "all", p.ids(t, nil, ""), []string{"a", "b"})
				expect(t, "network n1", p.ids(t, p.network, "n1"), []string{"a", "b"})
				expect(t, "network n9", p.ids(t, p.network, "n9"), []string{})
			}
			check(p)
			if err := p.Close(); err != nil {
				t.Fatal(err)
			}
			reopened := open(t, path)
			defer reopened.Close()
			check(reopened)
		})
	}
}

// attempt changes records and then ends the transaction badly.
func attempt(p ports, end func(ports, *store.Tx) error) (err error) {
	defer func() {
		if problem := recover(); problem != nil {
			err = fmt.Errorf("panic: %v", problem)
		}
	}()
	return p.Update(func(tx *store.Tx) error {
		p.all.Put(tx, port{ID: "c", Network: "n9"})
		p.all.Change(tx, "a", func(r *port) { r.Network = "n9" })
		p.all.Delete(tx, "b")
		p.all.Put(tx, port{ID: "b", Network: "n9"})
		return end(p, tx)
	})
}

// A killed process leaves the file as the kernel has it: a copy of the open
// file is just that.
func TestReopenWithoutClose(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	p := open(t, filepath.Join(dir, "state.db"))
	defer p.Close()
	for i := range 500 {
		p.put(t, port{ID: fmt.Sprint(i), Name: "p", Network: fmt.Sprint(i % 7)})
	}
	_ = p.Update(func(tx *store.Tx) error { p.all.Delete(tx, "3"); return nil })
	copied := filepath.Join(dir, "copy.db")
	if err := copyFile(filepath.Join(dir, "state.db"), copied); err != nil {
		t.Fatal(err)
	}
	again := open(t, copied)
	defer again.Close()
	expect(t, "all", again.ids(t, nil, ""), p.ids(t, nil, ""))
	again.put(t, port{ID: "new"})
	if got := again.ids(t, nil, ""); got[len(got)-1] != "new" || len(got) != 500 {
		t.Errorf("a record made after reopening is not the last of %d", len(got))
	}
}

func copyFile(from, to string) error {
	in, err := os.Open(from)
	if err != nil {
		return err
	}
	defer in.Close()
	out, err := os.Create(to)
	if err != nil {
		return err
	}
	_, err = io.Copy(out, in)
	return errors.Join(err, out.Close())
}

func TestOneProcessAtATime(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "state.db")
	p := open(t, path)
	defer p.Close()
	if _, err := store.Open(path); !errors.Is(err, store.ErrLocked) {
		t.Errorf("opening a second time: %v, want ErrLocked", err)
	}
}

func TestRecordsAreCopies(t *testing.T) {
	t.Parallel()
	p := open(t, "")
	mine := port{ID: "a", Groups: []string{"g1"}, memory: "not in JSON"}
	p.put(t, mine)
	mine.Groups[0] = "changed"
	_ = p.View(func(r store.Reader) error {
		got, _ := p.all.Get(r, "a")
		if got.Groups[0] != "g1" || got.memory != "" {
			t.Errorf("the table holds what would not come back: %+v", got)
		}
		return nil
	})
	var before port
	_ = p.Update(func(tx *store.Tx) error {
		before, _ = p.all.Get(tx, "a")
		p.all.Change(tx, "a", func(r *port) { r.Groups[0] = "g2" })
		return nil
	})
	if before.Groups[0] != "g1" {
		t.Error("Change reached into a record that was read before")
	}
}

func TestConcurrentReadersAndWriters(t *testing.T) {
	t.Parallel()
	p := open(t, filepath.Join(t.TempDir(), "state.db"))
	defer p.Close()
	p.put(t, port{ID: "a", Network: "0"}, port{ID: "b", Network: "0"})
	var all sync.WaitGroup
	for range 4 {
		all.Go(func() {
			for i := range 100 {
				_ = p.Update(func(tx *store.Tx) error {
					for _, id := range []string{"a", "b"} {
						p.all.Change(tx, id, func(r *port) { r.Network = fmt.Sprint(i) })
					}
					return nil
				})
			}
		})
		all.Go(func() {
			for range 300 {
				_ = p.View(func(r store.Reader) error {
					a, _ := p.all.Get(r, "a")
					b, _ := p.all.Get(r, "b")
					if a.Network != b.Network || p.network.Count(r, a.Network) != 2 {
						t.Errorf("half a transaction is visible: %s and %s", a.Network, b.Network)
					}
					return nil
				})
			}
		})
	}
	all.Wait()
}

func TestNameOf(t *testing.T) {
	t.Parallel()
	p := open(t, "")
	p.put(t, port{ID: "a", Name: "first"})
	_ = p.View(func(r store.Reader) error {
		if name, ok := p.NameOf(r, "a"); !ok || name != "first" {
			t.Errorf("NameOf(a) = %q, %v", name, ok)
		}
		if _, ok := p.NameOf(r, "none"); ok {
			t.Error("NameOf knows an id that does not exist")
		}
		return nil
	})
}
