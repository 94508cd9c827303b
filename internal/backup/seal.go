package backup

import (
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"filippo.io/age"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/slipway-sh/slipway/internal/backup/snapshot"
)

// The Secret on the management cluster with what only the operator's machine knows of
// the environment. It is encrypted to the recipients, so that the cluster itself cannot
// read it, and is part of each backup like any other Secret.
const (
	SealedNamespace = "slipway-system"
	SealedName      = "slipway-environment"
	SealedKey       = "sealed"
)

// mostSealed is the size that fits a Secret, in bytes.
const mostSealed = 1000 << 10

// Sealed is what the operator's machine knows of an environment.
type Sealed struct {
	// At is when it was sealed.
	At time.Time `json:"at"`
	// File, State and Passphrase are as in snapshot.Snapshot.
	File       []byte `json:"file"`
	State      []byte `json:"state,omitempty"`
	Passphrase []byte `json:"passphrase,omitempty"`
}

// Seal compresses and encrypts it to recipients (age1…). It is an error if the result
// does not fit a Secret.
func Seal(s Sealed, names []string) ([]byte, error) {
	to, err := parseRecipients(names)
	if err != nil {
		return nil, err
	}
	text, err := json.Marshal(s)
	if err != nil {
		return nil, err
	}
	encoder, err := newEncoder()
	if err != nil {
		return nil, err
	}
	sealed, err := to.encrypt(encoder.EncodeAll(text, nil))
	if err != nil {
		return nil, err
	}
	if len(sealed) > mostSealed {
		return nil, fmt.Errorf("sealing the state: it has %d bytes, and a Secret has room for %d", len(sealed), mostSealed)
	}
	return sealed, nil
}

// unseal adds to a snapshot what the Secret among its objects has, if the management
// cluster itself made the backup. A Secret that is sealed to others is passed over: up seals
// it anew at its end only, and so it may be of former recipients. The objects do not need it.
func unseal(s *snapshot.Snapshot, to []string, identities []age.Identity) error {
	if len(s.File) > 0 || len(s.State) > 0 {
		return nil
	}
	for _, o := range s.Objects {
		if o.GetKind() != "Secret" || o.GetNamespace() != SealedNamespace || o.GetName() != SealedName {
			continue
		}
		text, _, _ := unstructured.NestedString(o.Object, "data", SealedKey)
		var sealed []byte
		if err := json.Unmarshal([]byte(`"`+text+`"`), &sealed); err != nil {
			return errors.New("the sealed environment is not base64")
		}
		packed, err := decrypt(sealed, to, identities)
		if errors.Is(err, errStranger) {
			return nil
		}
		if err != nil {
			return fmt.Errorf("the sealed environment: %w", err)
		}
		plain, err := expand(packed, maxChunk)
		if err != nil {
			return fmt.Errorf("the sealed environment: %w", err)
		}
		var found Sealed
		if err := json.Unmarshal(plain, &found); err != nil {
			return errors.New("the sealed environment is not JSON")
		}
		s.File, s.State, s.StatePassphrase = found.File, found.State, found.Passphrase
	}
	return nil
}
