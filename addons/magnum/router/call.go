package router

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	"github.com/google/uuid"

	"github.com/slipway-sh/slipway/addons/magnum/api"
	"github.com/slipway-sh/slipway/addons/magnum/keystone"
	"github.com/slipway-sh/slipway/addons/magnum/policy"
	"github.com/slipway-sh/slipway/addons/openstackapi"
)

// call is one request on its way.
type call struct {
	s *Server
	w *openstackapi.Recorder
	r *http.Request

	requestID, base string
	// path is the one to route by, escaped; parts are its names below /v1.
	path   string
	parts  []string
	values url.Values
	token  *keystone.Token
	caller policy.Caller
	err    error
	// at is the management cluster that answered, for the audit log.
	at string
}

// ServeHTTP answers a request.
func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	start := time.Now()
	ctx, cancel := context.WithTimeout(r.Context(), s.o.RequestTime)
	defer cancel()
	c := &call{s: s, w: &openstackapi.Recorder{ResponseWriter: w}, r: r.WithContext(ctx), requestID: "req-" + uuid.NewString(), base: s.addresses.Of(r)}
	defer func() { c.account(time.Since(start)) }()
	defer openstackapi.Recover(s.o.Log, c.requestID, func(err error) {
		if c.err = err; c.w.Status == 0 {
			c.fail()
		}
	})
	c.r.Body = http.MaxBytesReader(c.w, r.Body, s.o.MaxBody)
	c.path = api.Path(r, c.base)
	c.err = c.serve()
	c.fail()
}

// fail writes the error, if there is one.
func (c *call) fail() {
	switch {
	case c.err == nil || errors.Is(c.err, openstackapi.Answered{}):
		return
	case errors.Is(c.err, context.Canceled) && c.ctx().Err() != nil:
		c.w.Status = 499 // the client went: nobody reads an answer
		return
	}
	var answered refused
	if errors.As(c.err, &answered) { // a member's words, with its request ID
		c.reply(answered.answer)
		return
	}
	c.w.Header().Set("X-Openstack-Request-Id", c.requestID)
	api.WriteError(c.w, c.r, c.requestID, c.err)
}

func (c *call) ctx() context.Context { return c.r.Context() }

// serve finds out what is asked and by whom.
func (c *call) serve() error {
	switch {
	case c.path == "/v1/healthcheck":
		return c.healthcheck()
	case c.path == "/" || c.path == "/v1" || c.r.Method == http.MethodOptions:
		return c.public()
	}
	c.parts = strings.Split(strings.TrimPrefix(c.path, "/v1/"), "/")
	var err error
	if c.token, err = openstackapi.Authenticate(c.w, c.r, c.s.o.Tokens, c.s.o.AuthURL); err != nil {
		return err
	}
	c.caller = c.token.Caller()
	if !c.s.o.Synced() {
		return openstackapi.Away("the router is starting", nil)
	}
	if c.values, err = url.ParseQuery(c.r.URL.RawQuery); err != nil {
		return &openstackapi.Error{Status: http.StatusBadRequest, Detail: "The query cannot be read."}
	}
	leave, err := c.s.lanes.Enter(c.r, c.caller.ProjectID)
	if err != nil {
		return err
	}
	defer leave()
	return c.route()
}

// healthcheck is oslo.middleware's. Members have their own.
func (c *call) healthcheck() error {
	status, text := http.StatusOK, "OK"
	if !c.s.o.Synced() {
		status, text = http.StatusServiceUnavailable, "STARTING"
	}
	c.w.Header().Set("Content-Type", "text/plain; charset=UTF-8")
	c.w.Header().Set("Content-Length", strconv.Itoa(len(text)))
	c.w.WriteHeader(status)
	c.w.Write([]byte(text)) //nolint:errcheck // the client is gone
	return nil
}

// route sends a request to where its answer is.
func (c *call) route() error {
	if list := c.listOfAll(); list != nil {
		return c.merge(*list)
	}
	switch {
	case c.read() && c.is("stats") && c.admin() && c.values.Get("project_id") == "":
		return c.stats()
	case c.read() && c.is("mservices"):
		return c.services()
	}
	m, err := c.target()
	if err != nil {
		return err
	}
	return c.forward(m)
}

// target is the management cluster that a request is sent to: the project's that it is about. An
// administrator may name another project, or an object of one.
func (c *call) target() (*Member, error) {
	project := c.caller.ProjectID
	if c.admin() {
		other, err := c.otherProject()
		if err != nil {
			return nil, err
		}
		if other != "" {
			project = other
		}
	}
	own, err := c.s.memberOf(c, project)
	if err != nil || project != c.caller.ProjectID || !c.admin() {
		return own, err
	}
	object, err := c.object()
	if err != nil || object == "" {
		return own, err
	}
	return c.locate(own, object)
}

// otherProject is the project that a request of an administrator names; "" is none.
func (c *call) otherProject() (string, error) {
	switch {
	case c.parts[0] == "quotas" && len(c.parts) > 1:
		return url.PathUnescape(c.parts[1])
	case c.parts[0] == "quotas" && !c.read():
		return c.inBody("project_id")
	case c.is("stats"):
		return c.values.Get("project_id"), nil
	}
	return "", nil
}

// object is the path of the object that a request is about, "" is none.
func (c *call) object() (string, error) {
	switch c.parts[0] {
	case "clusters", "clustertemplates":
		if len(c.parts) > 1 && c.parts[1] != "detail" {
			return c.parts[0] + "/" + c.parts[1], nil
		}
	case "certificates", "credentials":
		if len(c.parts) > 1 {
			return "clusters/" + c.parts[1], nil
		}
		id, err := c.inBody("cluster_uuid")
		if err != nil || id == "" {
			return "", err
		}
		return "clusters/" + url.PathEscape(id), nil
	}
	return "", nil
}

// inBody is a text in the body, which stays to be sent. What is no such body is the member's to
// refuse.
func (c *call) inBody(name string) (string, error) {
	text, err := io.ReadAll(c.r.Body)
	var large *http.MaxBytesError
	if errors.As(err, &large) {
		return "", &openstackapi.Error{Status: http.StatusRequestEntityTooLarge, Detail: "The body is larger than " + strconv.FormatInt(large.Limit, 10) + " bytes."}
	}
	if err != nil {
		return "", &openstackapi.Error{Status: http.StatusBadRequest, Detail: "The body could not be read.", Cause: err}
	}
	c.r.Body = io.NopCloser(bytes.NewReader(text))
	var body map[string]json.RawMessage
	var value string
	if json.Unmarshal(text, &body) != nil || json.Unmarshal(body[name], &value) != nil {
		return "", nil
	}
	return value, nil
}

// is reports whether the request is for a path below /v1.
func (c *call) is(path string) bool { return c.path == "/v1/"+path }

func (c *call) read() bool { return c.r.Method == http.MethodGet || c.r.Method == http.MethodHead }

func (c *call) admin() bool { return c.s.o.Policy.Admin(c.caller) }

// everywhere reports whether a rule of all projects holds for the caller.
func (c *call) everywhere(rule string) bool {
	return c.s.o.Policy.Allowed(rule, c.caller, policy.Target{ProjectID: c.caller.ProjectID, UserID: c.caller.UserID})
}

// account tells metrics and the audit log of an answer.
func (c *call) account(took time.Duration) {
	c.s.o.Observe(c.r.Method, c.label(), c.w.Status, took)
	audit := openstackapi.Audit{Request: c.r, RequestID: c.requestID, Status: c.w.Status, Took: took, Token: c.token, Object: c.at}
	if c.err != nil {
		audit.Reason = openstackapi.Reason(c.err)
	}
	audit.Log(c.s.o.Log)
}

// label is what metrics call a request: the resource of the API, of which there are few.
func (c *call) label() string {
	if len(c.parts) > 0 {
		switch name := c.parts[0]; name {
		case "clusters", "clustertemplates", "certificates", "credentials", "federations", "mservices", "quotas", "stats":
			return "/v1/" + name
		}
	}
	return "other"
}
