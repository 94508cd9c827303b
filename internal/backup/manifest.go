package backup

import (
	"bytes"
	"crypto/ed25519"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/slipway-sh/slipway/internal/backup/target"
)

// Backup is what everybody can read of one backup.
type Backup struct {
	Format int    `json:"format"`
	ID     string `json:"id"`
	// Environment, Generation, Taken, Revision and the versions are as in snapshot.Snapshot.
	Environment string            `json:"environment"`
	Generation  int               `json:"generation"`
	Taken       time.Time         `json:"taken"`
	Revision    string            `json:"revision,omitempty"`
	Slipway     string            `json:"slipway"`
	Kubernetes  string            `json:"kubernetes"`
	Controllers map[string]string `json:"controllers,omitempty"`
	// Objects and Bytes count the cluster's objects; bytes are before compression.
	Objects int   `json:"objects"`
	Bytes   int64 `json:"bytes"`
	// Etcd and Datastore are the sizes of the snapshot of the management cluster's etcd
	// and of the archive of the seed's datastore, in bytes; 0 is none.
	Etcd      int64 `json:"etcd,omitempty"`
	Datastore int64 `json:"datastore,omitempty"`
	// Applied is the size of what slipway up applied on the management cluster, in bytes;
	// 0 is none, and slipway undo cannot use the backup.
	Applied int64 `json:"applied,omitempty"`
	// KeepUntil is until when slipway undo may need the backup: Prune keeps it.
	KeepUntil time.Time `json:"keepUntil,omitzero"`
	// Cloud counts the resources of the cloud, by kind.
	Cloud map[string]int `json:"cloud,omitempty"`
	// Written are the bytes that this backup added to the target, without this object.
	Written int64 `json:"written"`
	// Recipients can read the backup.
	Recipients []string `json:"recipients"`
	// Signer wrote it. Key is the signer's key, encrypted to the recipients.
	Signer string `json:"signer"`
	Key    []byte `json:"key,omitempty"`
	// Table and Packs are the other objects of the backup.
	Table Part   `json:"table"`
	Packs []Part `json:"packs"`
	// Damage is why the backup cannot be used; empty if it can.
	Damage string `json:"damage,omitempty"`
	// Dated is when the backup says that it was taken, if the clock of the machine that made it
	// was ahead: that is still to come, or another one that was stored later is older. Taken is
	// then when it was stored. It is not signed.
	Dated time.Time `json:"dated,omitzero"`
}

// clockTolerance is how far clocks may be apart.
const clockTolerance = time.Minute

// dateAhead gives backups the time that they were stored if their own was still to come then, by
// the target's clock. As that may be behind, there must be a second sign: it is to come still, by
// the clock of who reads, or one that was stored later says that it is older. So it stays what it
// is when its time has come. entries are those of the backups.
func dateAhead(all []Backup, entries []target.Entry, now time.Time) {
	said := make([]time.Time, len(all))
	for i, b := range all {
		said[i] = b.Taken
	}
	for i := range all {
		stored := entries[i].Modified
		if !all[i].usable() || said[i].Sub(stored) <= clockTolerance {
			continue
		}
		ahead := said[i].Sub(now) > clockTolerance
		for j := range all {
			ahead = ahead || all[j].usable() && entries[j].Modified.After(stored) && said[j].Before(said[i])
		}
		if ahead {
			all[i].Dated, all[i].Taken = said[i], stored.UTC()
		}
	}
}

// usable reports whether a backup is there and not damaged.
func (b Backup) usable() bool { return b.ID != "" && b.Damage == "" }

// order sorts backups by the time with which IDs begin, or by when one was stored that is dated
// ahead.
func (b Backup) order() string {
	if b.Dated.IsZero() {
		return b.ID
	}
	return b.Taken.Format(idTime) + "-" + b.ID
}

// Part is an object of a backup.
type Part struct {
	// SHA256 is in hexadecimal, and the object's name in its folder.
	SHA256 string `json:"sha256"`
	// Size is in bytes.
	Size int64 `json:"size"`
}

// encode is a line of JSON and a line with the signature of it.
func (b Backup) encode(key ed25519.PrivateKey) ([]byte, error) {
	b.Damage, b.Dated = "", time.Time{}
	line, err := json.Marshal(b)
	if err != nil {
		return nil, err
	}
	line = append(line, '\n')
	line = base64.StdEncoding.AppendEncode(line, ed25519.Sign(key, signed(line)))
	return append(line, '\n'), nil
}

// signed is what is signed: the line, and what it is, so that no signature of the
// same key for something else fits.
func signed(line []byte) []byte { return append([]byte("slipway backup\n"), line...) }

// decodeBackup reads and checks what encode wrote. Each changed byte is an error.
func decodeBackup(id string, text []byte) (Backup, error) {
	end := bytes.IndexByte(text, '\n') + 1
	line, rest := text[:end], text[end:]
	b := Backup{}
	if json.Unmarshal(line, &b) != nil {
		return b, errors.New("it is damaged: this is no backup")
	}
	public, err := publicKey(b.Signer)
	if err != nil {
		return b, errors.New("it is damaged: it has no signer")
	}
	signature, ok := bytes.CutSuffix(rest, []byte{'\n'})
	sum, err := base64.StdEncoding.Strict().DecodeString(string(signature))
	if !ok || err != nil || bytes.ContainsAny(signature, "\r\n") || !ed25519.Verify(public, signed(line), sum) {
		return b, errors.New("it is damaged or forged: the signature is not of this content")
	}
	if err := newer(id, b.Format); err != nil {
		return b, err
	}
	if b.ID != id {
		return b, fmt.Errorf("it is damaged or forged: it is backup %s under another name", b.ID)
	}
	return b, nil
}

// accept checks a backup against what the options ask for.
func (r *Repository) accept(b Backup) error {
	if b.Environment != r.Environment() {
		return fmt.Errorf("it is of environment %s, not of %s", b.Environment, r.Environment())
	}
	if len(r.options.Signers) > 0 && !slices.Contains(r.options.Signers, b.Signer) {
		return fmt.Errorf("it is signed by %s, which spec.backup.signers does not name", b.Signer)
	}
	return nil
}
