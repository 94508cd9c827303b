package lifecycle

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
)

// Path is a file in the folder of a machine.
func (m *Servers[S]) Path(id, name string) string { return filepath.Join(m.Folder, id, name) }

func (m *Servers[S]) record(id string) string { return m.Path(id, m.Record) }

// Save writes the record of a machine so that a crash leaves the old or the new one.
// It holds user data: nobody else may read it.
func (m *Servers[S]) Save(s S) error {
	data, err := json.MarshalIndent(s, "", " ")
	if err != nil {
		return err
	}
	file := m.record(s.ID())
	if err := os.WriteFile(file+".new", data, 0o600); err != nil {
		return fmt.Errorf("writing record: %w", err)
	}
	return os.Rename(file+".new", file)
}

// Load returns a machine with its record. Without one the error is fs.ErrNotExist, and
// the machine knows its id only. What has no error is never nil.
func (m *Servers[S]) Load(id string) (S, error) { return m.read(id, m.record(id)) }

// read returns a machine whose record is that file.
func (m *Servers[S]) read(id, file string) (S, error) {
	s := m.New(id)
	if id == "" || id != filepath.Base(id) || strings.HasPrefix(id, ".") {
		return s, fmt.Errorf("%q is not the id of a server", id)
	}
	data, err := os.ReadFile(file)
	if err != nil {
		return s, err
	}
	if err := json.Unmarshal(data, s); err != nil {
		return s, fmt.Errorf("reading record: %w", err)
	}
	return s, nil
}

// IDs are the machines that have a folder.
func (m *Servers[S]) IDs() ([]string, error) { return folders(m.Folder) }

func folders(dir string) ([]string, error) {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return nil, fmt.Errorf("listing machines: %w", err)
	}
	var ids []string
	for _, e := range entries {
		if e.IsDir() && e.Name() != asideFolder {
			ids = append(ids, e.Name())
		}
	}
	return ids, nil
}

// Has tells whether a machine is one of these, also one that is set aside.
func (m *Servers[S]) Has(id string) bool {
	if _, err := os.Stat(m.Path(filepath.Base(id), "")); err == nil {
		return true
	}
	_, err := os.Stat(m.aside(filepath.Base(id)))
	return err == nil
}
