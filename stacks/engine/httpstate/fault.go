package httpstate

import (
	"errors"
	"fmt"
	"net/http"
	"regexp"
	"strings"

	"github.com/slipway-sh/slipway/internal/stateurl"
)

// Error is an error about a state on a server. It crosses from the engine's process as text: see
// [Told].
type Error struct {
	Address string
	Err     error
	Remedy  string
}

// Error names the address, the cause and what to do.
func (e *Error) Error() string {
	return fmt.Sprintf("state at %s: %v [what to do: %s]", e.Address, e.Err, e.Remedy)
}

// Unwrap returns the cause.
func (e *Error) Unwrap() error { return e.Err }

var toldPattern = regexp.MustCompile(`(?s)state at (\S+): (.+?) \[what to do: ([^\]]+)\]`)

// Told finds an [Error] in the output of the engine's process.
func Told(text string) (*Error, bool) {
	match := toldPattern.FindStringSubmatch(text)
	if match == nil {
		return nil, false
	}
	return &Error{match[1], errors.New(match[2]), match[3]}, true
}

// fault returns the error of an operation on this state.
func (c *Client) fault(doing string, cause error, remedy string) error {
	return &Error{c.at.state, fmt.Errorf("%s: %w", doing, cause), remedy}
}

// refused returns the error for an answer that an operation does not expect.
func (c *Client) refused(doing string, a answer) error {
	cause := fmt.Errorf("the server answered %d %s%s", a.status, http.StatusText(a.status), said(a.body))
	switch {
	case a.status == http.StatusUnauthorized:
		return c.fault(doing, cause, "set "+stateurl.UsernameVariable+" and "+stateurl.PasswordVariable+" to a login of that server that is valid")
	case a.status == http.StatusForbidden:
		return c.fault(doing, cause, "give the login the right to change states; in GitLab the role Maintainer")
	case a.status >= 300 && a.status < 400:
		return c.fault(doing, cause, "write the address to which the server redirects into spec.state.backend")
	case a.status >= 500 || a.status == http.StatusTooManyRequests:
		return c.fault(doing, cause, "look at the server, then run the command again: it continues")
	}
	return c.fault(doing, cause, "check spec.state.backend: it must be the address of a state for Terraform's http backend")
}

// said returns the beginning of an answer in one line, in which servers explain the failure.
func said(body []byte) string {
	text := strings.Join(strings.Fields(strings.ToValidUTF8(string(body), "")), " ")
	if len(text) > 200 {
		text = strings.ToValidUTF8(text[:200], "") + "…"
	}
	text = strings.NewReplacer("[", "(", "]", ")").Replace(text)
	if text == "" {
		return ""
	}
	return ": " + text
}
