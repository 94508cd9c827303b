package sandbox

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"path/filepath"
	"strings"

	"github.com/slipway-sh/slipway/internal/sandbox/faultinject"
)

const controlHeader = "X-Sandbox-Control"

// Control talks to the running cloud of a folder.
type Control struct{ url, secret string }

// NewControl reads the control secret of the folder; url is the address of the cloud.
func NewControl(dir, url string) (*Control, error) {
	s, err := readSecrets(filepath.Join(dir, "secrets.json"))
	if err != nil {
		return nil, err
	}
	return &Control{url, s.Control}, nil
}

// Status asks the cloud for its status.
func (c *Control) Status(ctx context.Context) (s Status, err error) {
	err = c.call(ctx, http.MethodGet, "status", nil, &s)
	return s, err
}

// Faults lists the fault rules.
func (c *Control) Faults(ctx context.Context) (rules []faultinject.Rule, err error) {
	err = c.call(ctx, http.MethodGet, "faults", nil, &rules)
	return rules, err
}

// AddFault puts a fault rule in force and returns it with its id.
func (c *Control) AddFault(ctx context.Context, rule faultinject.Rule) (added faultinject.Rule, err error) {
	err = c.call(ctx, http.MethodPost, "faults", rule, &added)
	return added, err
}

// RemoveFault removes a fault rule.
func (c *Control) RemoveFault(ctx context.Context, id string) error {
	return c.call(ctx, http.MethodDelete, "faults/"+id, nil, nil)
}

// ClearFaults removes every fault rule.
func (c *Control) ClearFaults(ctx context.Context) error {
	return c.call(ctx, http.MethodDelete, "faults", nil, nil)
}

func (c *Control) call(ctx context.Context, method, path string, in, out any) error {
	var body io.Reader
	if in != nil {
		text, err := json.Marshal(in)
		if err != nil {
			return fmt.Errorf("encoding %s: %w", path, err)
		}
		body = bytes.NewReader(text)
	}
	request, err := http.NewRequestWithContext(ctx, method, c.url+controlPath+path, body)
	if err != nil {
		return err
	}
	request.Header.Set(controlHeader, c.secret)
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		return fmt.Errorf("asking the sandbox: %w", err)
	}
	defer response.Body.Close()
	text, err := io.ReadAll(io.LimitReader(response.Body, 1<<20))
	switch {
	case err != nil:
		return fmt.Errorf("asking the sandbox: %w", err)
	case response.StatusCode != http.StatusOK:
		return errors.New(strings.TrimSpace(string(text)))
	case out == nil:
		return nil
	}
	return json.Unmarshal(text, out)
}
