package api

import (
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"strings"
)

// The minor versions of 1.x that are spoken.
const (
	minMinor = 1
	maxMinor = 14
)

// serviceWord is how responses name the service.
const serviceWord = "container-infrastructure-management"

const versionHelp = "https://docs.openstack.org/magnum/latest/contributor/api-microversion.html"

// minor is a microversion 1.<minor>.
type minor int

func (m minor) String() string { return fmt.Sprintf("1.%d", int(m)) }

// microversionError is the special body of 406. A request that came with since has it;
// without, the service does not have the version that was asked for.
type microversionError struct {
	asked string
	since minor
}

func (e *microversionError) object(accept string) any {
	o := map[string]any{
		"code": "magnum.microversion-unsupported", "title": "Requested microversion is unsupported",
		"min_version": minor(minMinor).String(), "max_version": minor(maxMinor).String(),
		"links": []any{map[string]string{"rel": "help", "href": versionHelp}},
	}
	if accept == "" || strings.Contains(accept, "json") || strings.Contains(accept, "*/*") {
		o["description"] = e.description()
	}
	return o
}

func (e *microversionError) description() string {
	all := fmt.Sprintf("The service has versions %s to %s.", minor(minMinor), minor(maxMinor))
	if e.since > 0 {
		return fmt.Sprintf("Version %s does not have this request: ask for version %s or later. %s", e.asked, e.since, all)
	}
	return fmt.Sprintf("Version %s is not supported. %s", e.asked, all)
}

func unsupported(e microversionError) error {
	return &httpError{status: http.StatusNotAcceptable, detail: "Requested microversion is unsupported", version: &e}
}

// negotiate reads the version a client asks for; no header is 1.1. In-range
// says whether the version headers go into the answer: they do unless the
// header could not be read.
func negotiate(header string) (version minor, readable bool, err error) {
	if header == "" {
		return minMinor, true, nil
	}
	words := strings.Fields(header)
	malformed := &httpError{status: http.StatusNotAcceptable, outside: true,
		detail: "The header OpenStack-API-Version must be container-infra and a version such as 1.10, or latest."}
	if len(words) != 2 {
		return 0, false, malformed
	}
	if strings.EqualFold(words[1], "latest") {
		return maxMinor, true, nil
	}
	if !slices.Contains([]string{"container-infra", "container-infrastructure", serviceWord}, words[0]) {
		return 0, false, malformed
	}
	majorText, minorText, ok := strings.Cut(words[1], ".")
	major, err1 := strconv.ParseUint(majorText, 10, 31)
	number, err2 := strconv.ParseUint(minorText, 10, 31)
	switch {
	case !ok || err1 != nil || err2 != nil:
		return 0, false, malformed
	case major != 1 || number < minMinor || number > maxMinor:
		return 0, true, unsupported(microversionError{asked: words[1]})
	}
	return minor(number), true, nil
}

// versionHeaders go into every answer below /v1 whose version was readable.
func versionHeaders(h http.Header, effective minor) {
	h.Set("OpenStack-API-Minimum-Version", serviceWord+" "+minor(minMinor).String())
	h.Set("OpenStack-API-Maximum-Version", serviceWord+" "+minor(maxMinor).String())
	if effective > 0 {
		h.Set("OpenStack-API-Version", serviceWord+" "+effective.String())
	}
	h.Add("Vary", "OpenStack-API-Version")
}
