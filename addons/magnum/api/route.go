package api

import (
	"net/http"
	"path"
	"slices"
	"strings"
)

// route is one operation of the API.
type route struct {
	method, pattern string
	// since is the first version that has it.
	since minor
	// params are the query parameters that it knows.
	params []string
	do     func(*call) error
}

// allRoutes are the operations of all resources: the router uses them, and tests call them as every
// caller who must not get in.
func allRoutes() []route {
	return slices.Concat(templateRoutes(), clusterRoutes(), nodeGroupRoutes(), certificateRoutes(), quotaRoutes(), otherRoutes())
}

// routes puts the operations of all resources together.
func (s *Server) routes() *http.ServeMux {
	byPattern := map[string][]route{}
	for _, r := range allRoutes() {
		byPattern[r.pattern] = append(byPattern[r.pattern], r)
	}
	mux := http.NewServeMux()
	for pattern, of := range byPattern {
		mux.HandleFunc("/v1/"+pattern, func(_ http.ResponseWriter, r *http.Request) { dispatch(r, pattern, of) })
	}
	mux.HandleFunc("/", func(_ http.ResponseWriter, r *http.Request) {
		callOf(r).err = &httpError{status: http.StatusNotFound, detail: "The resource could not be found.", outside: true}
	})
	return mux
}

// dispatch chooses the operation of a known path.
func dispatch(r *http.Request, pattern string, of []route) {
	c := callOf(r)
	c.r, c.route = r, "/v1/"+pattern
	i := slices.IndexFunc(of, func(o route) bool { return o.method == r.Method })
	if i < 0 {
		for _, o := range of {
			c.w.Header().Add("Allow", o.method)
		}
		c.err = &httpError{status: http.StatusMethodNotAllowed, detail: "The method " + r.Method + " is not allowed here.", outside: true}
		return
	}
	o := of[i]
	if c.version < o.since {
		c.err = unsupported(microversionError{asked: c.version.String(), since: o.since})
		return
	}
	if c.err = c.query(o.params); c.err == nil {
		c.err = c.do(o)
	}
}

// do performs an operation once there is room for it.
func (c *call) do(o route) error {
	leave, err := c.s.lanes.Enter(c.r, c.caller.ProjectID)
	if err != nil {
		return err
	}
	defer leave()
	return o.do(c)
}

// Path is the path that a request is routed by, for code that routes before the API. base is the
// address that clients use, without /v1.
func Path(r *http.Request, base string) string { return clean(r.URL.EscapedPath(), pathOf(base)) }

// clean is the path a request is routed by: below /v1, without a slash at the end; a path without
// /v1 is as if it had it, so that a catalog address may have it or not. prefix is the path of the
// address that clients use: it is cut off where a proxy leaves it, and where python-magnumclient
// sends it twice. That client appends the path of a link to the catalog's address, and with a
// keystoneauth session it does not send its name, by which next could recognize it.
func clean(escaped, prefix string) string {
	for _, start := range []string{prefix, "/v1" + prefix} {
		if rest, ok := strings.CutPrefix(escaped, start); prefix != "" && ok && (rest == "" || rest[0] == '/') {
			escaped = rest
		}
	}
	escaped = path.Clean("/" + escaped)
	switch {
	case escaped == "/" || escaped == "/v1" || strings.HasPrefix(escaped, "/v1/"):
		return escaped
	case escaped == "/.json":
		return "/"
	case escaped == "/v1.json":
		return "/v1"
	}
	return "/v1" + escaped
}
