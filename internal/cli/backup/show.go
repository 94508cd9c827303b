package backup

import (
	"maps"
	"slices"
	"strconv"
	"time"

	"github.com/slipway-sh/slipway/internal/backup"
	"github.com/slipway-sh/slipway/internal/ui"
)

func showTable(b backup.Backup) ui.Table {
	var size int64
	for _, p := range b.Packs {
		size += p.Size
	}
	rows := [][]string{{"id", b.ID}, {"environment", b.Environment}, {"rebuilds", strconv.Itoa(b.Generation)}, {"taken", b.Taken.Local().Format(time.DateTime)},
		{"revision", b.Revision}, {"slipway", b.Slipway}, {"kubernetes", b.Kubernetes}}
	if !b.Dated.IsZero() {
		rows = append(rows, []string{"dated", ahead(b)})
	}
	for _, name := range slices.Sorted(maps.Keys(b.Controllers)) {
		rows = append(rows, []string{name, b.Controllers[name]})
	}
	rows = append(rows, []string{"objects", strconv.Itoa(b.Objects) + ", " + mib(b.Bytes)})
	for _, file := range []struct {
		what string
		size int64
	}{{"etcd snapshot", b.Etcd}, {"seed's datastore", b.Datastore}, {"controllers", b.Applied}} {
		if file.size > 0 {
			rows = append(rows, []string{file.what, mib(file.size)})
		}
	}
	for _, kind := range slices.Sorted(maps.Keys(b.Cloud)) {
		rows = append(rows, []string{kind, strconv.Itoa(b.Cloud[kind])})
	}
	rows = append(rows, []string{"stored", mib(size+b.Table.Size) + " in " + strconv.Itoa(len(b.Packs)) + " packs, of which " + mib(b.Written) + " were added"})
	for _, one := range b.Recipients {
		rows = append(rows, []string{"readable by", one})
	}
	rows = append(rows, []string{"signed by", b.Signer})
	return ui.Table{Header: []string{"", ""}, Rows: rows}
}
