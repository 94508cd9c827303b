package api

import (
	"fmt"
	"net/http"
	"strconv"
	"strings"
)

// Microversion is a version of an API's details, such as 2.96.
type Microversion struct{ Major, Minor int }

// String returns a text such as "2.96".
func (v Microversion) String() string { return fmt.Sprintf("%d.%d", v.Major, v.Minor) }

// AtLeast reports whether v is the other version or a later one.
func (v Microversion) AtLeast(major, minor int) bool {
	return v.Major > major || (v.Major == major && v.Minor >= minor)
}

// Microversions are the versions that a service supports.
type Microversions struct {
	// Service is the word in OpenStack-API-Version ("compute", "volume").
	Service string
	// Legacy is an older header that is read and answered too ("X-OpenStack-Nova-API-Version");
	// empty if there is none.
	Legacy   string
	Min, Max Microversion
}

// negotiate finds the version that a request asks for: the lowest when it
// asks for none.
func (m *Microversions) negotiate(h http.Header) (Microversion, *Error) {
	asked := h.Get(m.Legacy)
	for _, part := range strings.Split(h.Get("OpenStack-API-Version"), ",") {
		if service, version, ok := strings.Cut(strings.TrimSpace(part), " "); ok && service == m.Service {
			asked = strings.TrimSpace(version)
		}
	}
	switch asked {
	case "":
		return m.Min, nil
	case "latest":
		return m.Max, nil
	}
	v, ok := parseMicroversion(asked)
	if !ok {
		return m.Min, BadRequest("API Version String %s is of invalid format. Must be of format MajorNum.MinorNum.", asked)
	}
	if !v.AtLeast(m.Min.Major, m.Min.Minor) || !m.Max.AtLeast(v.Major, v.Minor) {
		return m.Min, Errorf(http.StatusNotAcceptable, "",
			"Version %s is not supported by the API. Minimum is %s and maximum is %s.", v, m.Min, m.Max)
	}
	return v, nil
}

func parseMicroversion(text string) (Microversion, bool) {
	major, minor, ok := strings.Cut(text, ".")
	if !ok {
		return Microversion{}, false
	}
	a, errA := strconv.ParseUint(major, 10, 16)
	b, errB := strconv.ParseUint(minor, 10, 16)
	return Microversion{int(a), int(b)}, errA == nil && errB == nil
}

func (m *Microversions) answer(h http.Header, v Microversion) {
	h.Set("OpenStack-API-Version", m.Service+" "+v.String())
	h.Add("Vary", "OpenStack-API-Version")
	if m.Legacy != "" {
		h.Set(m.Legacy, v.String())
		h.Add("Vary", m.Legacy)
	}
}
