package database

import (
	"bytes"
	"encoding/json"
	"maps"
	"slices"
)

// Document is an object of Magnum's API. Its fields have the names of the columns.
type Document map[string]json.RawMessage

// Documents are the objects of Magnum's API that are rows of the tables.
type Documents struct {
	// Templates, Clusters, Groups and Quotas have ids; those of groups and quotas are
	// shown by the API.
	Templates, Clusters, Groups, Quotas []Document
}

// FromDocuments makes a database of what Magnum's API shows. It is partial: there are
// no certificates and no trusts. Errors name the object and the field.
func FromDocuments(version string, d Documents) (*Database, error) {
	all := map[string]*table{"x509keypair": {name: "x509keypair"}}
	for name, documents := range map[string][]Document{"cluster_template": d.Templates, "cluster": d.Clusters, "nodegroup": d.Groups, "quotas": d.Quotas} {
		all[name] = tableOf(name, documents)
	}
	db, err := decodeRows(all)
	if err != nil {
		return nil, err
	}
	db.Releases, db.Partial = version, true
	return db, nil
}

// tableOf writes documents as a server of a database would send them.
func tableOf(name string, documents []Document) *table {
	columns := map[string]bool{}
	for _, document := range documents {
		for column := range document {
			columns[column] = true
		}
	}
	t := &table{name: name, columns: slices.Sorted(maps.Keys(columns))}
	for _, document := range documents {
		row := make([]*string, len(t.columns))
		for i, column := range t.columns {
			row[i] = cellOfJSON(document[column])
		}
		t.rows = append(t.rows, row)
	}
	return t
}

func cellOfJSON(raw json.RawMessage) *string {
	raw = bytes.TrimSpace(raw)
	if len(raw) == 0 || string(raw) == "null" {
		return nil
	}
	var text string
	if json.Unmarshal(raw, &text) != nil {
		text = string(raw) // a number, true, false, a list or an object
	}
	return &text
}
