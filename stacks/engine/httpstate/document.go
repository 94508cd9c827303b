package httpstate

import (
	"bytes"
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
)

// format marks a document as Slipway's, and is its version.
const format = 1

// document is what is on the server: the engine's checkpoint, whose secrets are encrypted, in an
// envelope. GitLab requires a growing serial, and keeps each one as a version.
type document struct {
	Slipway     int    `json:"slipway"`
	Serial      int64  `json:"serial"`
	Lineage     string `json:"lineage"`
	Environment string `json:"environment"`
	// Checkpoint keeps its bytes unchanged, because the engine's own checks may depend on them.
	Checkpoint json.RawMessage `json:"checkpoint"`
}

// errForeign is the cause for a document that another program wrote.
var errForeign = errors.New("another program's state is there")

// Read returns the environment's name and the checkpoint; both are empty if there is no state.
func (c *Client) Read(ctx context.Context) (environment string, checkpoint []byte, err error) {
	d, err := c.read(ctx)
	if err != nil {
		return "", nil, err
	}
	c.serial, c.lineage = d.Serial, d.Lineage
	return d.Environment, d.Checkpoint, nil
}

// Exists reports whether there is a state.
func (c *Client) Exists(ctx context.Context) (bool, error) {
	d, err := c.read(ctx)
	return d.Checkpoint != nil, err
}

func (c *Client) read(ctx context.Context) (document, error) {
	const doing = "reading it"
	a, err := c.send(ctx, doing, http.MethodGet, c.at.state, "", nil, nil)
	if err != nil {
		return document{}, err
	}
	switch {
	case a.in(http.StatusNoContent, http.StatusNotFound), a.status == http.StatusOK && len(a.body) == 0:
		return document{}, nil
	case a.status != http.StatusOK:
		return document{}, c.refused(doing, a)
	}
	return c.decode(a.body)
}

func (c *Client) decode(text []byte) (document, error) {
	var d document
	if err := json.Unmarshal(text, &d); err != nil {
		return d, c.fault("reading it", errors.New("this is not a state"+said(text)), "check spec.state.backend")
	}
	if d.Slipway == 0 || d.Checkpoint == nil {
		return d, c.fault("reading it", errForeign, "give spec.state.backend an address that nothing else uses")
	}
	if d.Slipway > format {
		return d, c.fault("reading it", fmt.Errorf("its format %d is newer than this Slipway", d.Slipway), "use the Slipway that wrote it, or a newer one")
	}
	return d, nil
}

// Write replaces the state, with a lock that this client holds. It refuses if the state is not the
// one that was read or written last: then somebody else works on it, whatever the server says about
// the lock.
func (c *Client) Write(ctx context.Context, lock, environment string, checkpoint []byte) error {
	const doing = "writing it"
	now, err := c.read(ctx)
	if err != nil {
		return err
	}
	if now.Serial != c.serial || now.Lineage != c.lineage {
		return c.fault(doing, fmt.Errorf("another run wrote it meanwhile (version %d, not %d): the server did not keep the lock", now.Serial, c.serial),
			"wait until no other run works on it, then run the command again; if it happens again, use another server")
	}
	next := document{format, c.serial + 1, c.lineage, environment, checkpoint}
	if next.Lineage == "" {
		next.Lineage = rand.Text()
	}
	text, err := json.Marshal(next)
	if err == nil {
		next, err = c.decode(text) // as it will be read
	}
	if err != nil {
		return c.fault(doing, err, "run the command again")
	}
	arrived := func() bool {
		got, err := c.read(ctx)
		return err == nil && got.Serial == next.Serial && got.Lineage == next.Lineage && bytes.Equal(compact(got.Checkpoint), compact(next.Checkpoint))
	}
	a, err := c.send(ctx, doing, http.MethodPost, c.at.state, lock, text, arrived)
	if err != nil {
		return err
	}
	switch {
	case a.in(http.StatusConflict, http.StatusLocked):
		return c.taken(doing, a)
	case !a.in(http.StatusOK, http.StatusCreated, http.StatusNoContent):
		return c.refused(doing, a)
	}
	c.serial, c.lineage = next.Serial, next.Lineage
	return nil
}

// Delete deletes the state, with a lock that this client holds.
func (c *Client) Delete(ctx context.Context, lock string) error {
	const doing = "deleting it"
	a, err := c.send(ctx, doing, http.MethodDelete, c.at.state, lock, nil, nil)
	if err != nil {
		return err
	}
	switch {
	case a.in(http.StatusConflict, http.StatusLocked):
		return c.taken(doing, a)
	case !a.in(http.StatusOK, http.StatusAccepted, http.StatusNoContent, http.StatusNotFound):
		return c.refused(doing, a)
	}
	c.serial, c.lineage = 0, ""
	return nil
}

// compact removes the spaces that a server may have added to JSON.
func compact(text []byte) []byte {
	var out bytes.Buffer
	if json.Compact(&out, text) != nil {
		return text
	}
	return out.Bytes()
}
