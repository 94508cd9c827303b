package backup

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"

	"filippo.io/age"

	"github.com/slipway-sh/slipway/internal/backup/target"
	"github.com/slipway-sh/slipway/internal/fault"
)

// Verified is what Verify found of one backup.
type Verified struct {
	Backup `json:"backup"`
	// Checked are the objects and bytes that were read.
	Checked      int   `json:"checked"`
	CheckedBytes int64 `json:"checkedBytes"`
	// Decrypted reports whether each content was read too, which needs an identity.
	Decrypted bool `json:"decrypted"`
	// Stranger says that the backup is encrypted to none of the identities.
	Stranger bool `json:"stranger,omitempty"`
	// Problems are empty if the backup is whole.
	Problems []string `json:"problems"`
	// Pruned says that the backup was removed while it was read; it has no problems then.
	Pruned bool `json:"pruned,omitempty"`
}

// Verify checks the signature of a backup, and that all its objects are there with
// their sizes and digests; for that it needs no key. With identities it reads all
// contents too. The error is of the target, or that no identity fits (Stranger); what is wrong is
// in Problems.
func (r *Repository) Verify(ctx context.Context, b Backup, identities ...age.Identity) (Verified, error) {
	v := Verified{Backup: b, Problems: []string{}}
	if b.Damage != "" {
		v.Problems = append(v.Problems, b.Damage)
		return v, nil
	}
	parts := map[string]Part{tableFolder + b.Table.SHA256: b.Table}
	for _, p := range b.Packs {
		parts[packFolder+p.SHA256] = p
	}
	for name, p := range parts {
		err := r.checkPart(ctx, name, p)
		var broken *fault.Fault
		switch {
		case errors.Is(err, errBroken):
			v.Problems = append(v.Problems, err.Error())
		case err != nil && errors.As(err, &broken):
			return v, err
		case err != nil:
			return v, fmt.Errorf("checking backup %s: %w", b.ID, err)
		}
		v.Checked, v.CheckedBytes = v.Checked+1, v.CheckedBytes+p.Size
	}
	if len(v.Problems) > 0 {
		return r.unlessPruned(ctx, v)
	}
	if len(identities) == 0 {
		return v, nil
	}
	_, err := r.Read(ctx, b.ID, identities...)
	switch {
	case IsDamaged(err):
		v.Problems = append(v.Problems, err.Error())
		return r.unlessPruned(ctx, v)
	case errors.Is(err, errStranger):
		v.Stranger = true
	case err != nil: // it may have been removed since its parts were checked
		if now, failed := r.unlessPruned(ctx, v); failed == nil && now.Pruned {
			return now, nil
		}
	}
	v.Decrypted = err == nil
	return v, err
}

// unlessPruned is what was found of a backup that is listed still. One that a schedule has removed
// since it was listed lacks what nobody needs any more.
func (r *Repository) unlessPruned(ctx context.Context, v Verified) (Verified, error) {
	_, err := r.get(ctx, backupFolder+v.ID, maxSmall)
	if errors.Is(err, target.ErrAbsent) {
		v.Pruned, v.Problems = true, []string{}
		return v, nil
	}
	return v, err
}

// errBroken marks what is wrong with an object, in contrast to its target.
var errBroken = errors.New("damaged")

// checkPart streams an object and compares size and digest.
func (r *Repository) checkPart(ctx context.Context, name string, p Part) error {
	body, err := r.target.Get(ctx, name)
	if errors.Is(err, target.ErrAbsent) {
		return fmt.Errorf("%w: %s is missing", errBroken, name)
	}
	if err != nil {
		return err
	}
	defer body.Close()
	sum := sha256.New()
	size, err := io.Copy(sum, io.LimitReader(body, p.Size+1))
	switch {
	case err != nil:
		return err
	case size != p.Size:
		return fmt.Errorf("%w: %s has %d bytes instead of %d", errBroken, name, size, p.Size)
	case hex.EncodeToString(sum.Sum(nil)) != p.SHA256:
		return fmt.Errorf("%w: the digest of %s is not of its content", errBroken, name)
	}
	return nil
}
