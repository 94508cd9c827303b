// Package backup is the repository of backups of one environment on a target:
// encrypted, signed, and written once (docs/design/0026-backups.md).
//
//	repository     the format and the environment, in JSON
//	writers/ID     a writer has begun this backup
//	packs/SHA256   contents, encrypted to the recipients
//	tables/SHA256  where each content of a backup is, sealed with the writer's key
//	backups/ID     a backup: readable by all, signed, written last
//	pins/ID        slipway undo is using this backup, until pins/ID.done is there; in
//	               pins/ID.recover it is slipway recover, and the next ones have a number
package backup

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/slipway-sh/slipway/internal/backup/target"
	"github.com/slipway-sh/slipway/internal/fault"
)

// Format is the version of the format that this package writes, and the newest that
// it reads.
const Format = 1

// Options say whose backups these are.
type Options struct {
	// Environment is its name. A repository of another one is refused; "" takes
	// any.
	Environment string
	// Signers are the writers whose backups are accepted; empty: any.
	Signers []string
	// Recipients (age1…) and Key are needed to write only.
	Recipients []string
	Key        Key
	// Full stores everything again, without relying on what is stored.
	Full bool
	// Now is the clock; nil is time.Now.
	Now func() time.Time
}

// Repository is the backups of one environment.
type Repository struct {
	target  target.Target
	options Options
	// about is nil until something is stored.
	about *about
}

// about is the object `repository`.
type about struct {
	Format      int    `json:"format"`
	Environment string `json:"environment"`
}

// The names of objects.
const (
	aboutObject   = "repository"
	packFolder    = "packs/"
	tableFolder   = "tables/"
	backupFolder  = "backups/"
	writersFolder = "writers/"
	pinFolder     = "pins/"
)

// maxSmall bounds objects that are read whole, besides packs and tables, in bytes.
const maxSmall = 4 << 20

// Open opens the repository at a target. It need not exist: then it has no backups.
func Open(ctx context.Context, t target.Target, o Options) (*Repository, error) {
	if o.Now == nil {
		o.Now = time.Now
	}
	r := &Repository{target: t, options: o}
	text, err := r.get(ctx, aboutObject, maxSmall)
	if errors.Is(err, target.ErrAbsent) {
		return r, nil
	}
	if err != nil {
		return nil, fmt.Errorf("opening the backups: %w", err)
	}
	return r, r.take(text)
}

// take checks the object `repository`.
func (r *Repository) take(text []byte) error {
	found := about{}
	if err := json.Unmarshal(text, &found); err != nil || found.Format < 1 {
		return fault.New(r.target.String()+"/"+aboutObject, errors.New("this is no repository of backups, or it is damaged"), "name another prefix in spec.backup.target, or restore this object: it has the format and the environment")
	}
	if err := newer(r.target.String(), found.Format); err != nil {
		return err
	}
	if r.options.Environment != "" && r.options.Environment != found.Environment {
		return fault.Usage(r.target.String(), fmt.Errorf("these are backups of environment %s, not of %s", found.Environment, r.options.Environment), "name another prefix in spec.backup.target, or the environment file of "+found.Environment)
	}
	r.about = &found
	return nil
}

func newer(object string, format int) error {
	if format <= Format {
		return nil
	}
	return fault.Usage(object, fmt.Errorf("a newer Slipway wrote this: format %d, and this one reads up to %d", format, Format), "use the newer Slipway")
}

// Environment is the name of the environment, "" if nothing is stored and none was
// given.
func (r *Repository) Environment() string {
	if r.about == nil {
		return r.options.Environment
	}
	return r.about.Environment
}

// create makes the object `repository`, unless there is one.
func (r *Repository) create(ctx context.Context) error {
	if r.about != nil {
		return nil
	}
	if r.options.Environment == "" {
		return errors.New("writing a backup: no environment is named")
	}
	text, err := json.Marshal(about{Format: Format, Environment: r.options.Environment})
	if err != nil {
		return err
	}
	err = r.target.Put(ctx, aboutObject, append(text, '\n'))
	if errors.Is(err, target.ErrExists) { // another writer was first
		text, err = r.get(ctx, aboutObject, maxSmall)
	}
	if err != nil {
		return fmt.Errorf("making the repository: %w", err)
	}
	return r.take(text)
}

// get reads an object of at most so many bytes.
func (r *Repository) get(ctx context.Context, name string, most int64) ([]byte, error) {
	body, err := r.target.Get(ctx, name)
	if err != nil {
		return nil, err
	}
	defer body.Close()
	content, err := io.ReadAll(io.LimitReader(body, most+1))
	if err != nil {
		return nil, err
	}
	if int64(len(content)) > most {
		return nil, r.damaged(name, fmt.Errorf("it has more than %d bytes", most))
	}
	return content, nil
}

// put stores an object whose name no other content has. If it is there already, as
// after an answer that was lost, it must be the same.
func (r *Repository) put(ctx context.Context, name string, content []byte) error {
	err := r.target.Put(ctx, name, content)
	if !errors.Is(err, target.ErrExists) {
		return err
	}
	there, err := r.get(ctx, name, int64(len(content)))
	if err != nil {
		return err
	}
	if !bytes.Equal(there, content) {
		return r.damaged(name, errors.New("there is another content of this name"))
	}
	return nil
}

// damage marks that something is not what was written, in contrast to a target that does not
// answer or a key that does not fit.
type damage struct{ error }

// Unwrap returns the cause.
func (d damage) Unwrap() error { return d.error }

// IsDamaged reports whether an error says that a backup is not what was written.
func IsDamaged(err error) bool {
	var found damage
	return errors.As(err, &found)
}

// damaged is the fault of an object that is not what was written.
func (r *Repository) damaged(name string, cause error) error {
	return fault.New(r.target.String()+"/"+name, damage{cause}, "use another backup (slipway backup list), or a copy of this object if the target keeps versions")
}
