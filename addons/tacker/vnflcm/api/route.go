package api

import (
	"maps"
	"mime"
	"net/http"
	"regexp"
	"slices"
	"strings"

	"github.com/slipway-sh/slipway/addons/magnum/policy"
	"github.com/slipway-sh/slipway/addons/tacker/vnflcm/callback"
	"github.com/slipway-sh/slipway/addons/tacker/vnflcm/view"
)

// PolicyPrefix begins the names of rules; they are Tacker's.
const PolicyPrefix = "os_nfv_orchestration_api_v2:vnf_instances:"

// route is one operation of the API.
type route struct {
	method, pattern, rule string
	do                    func(*call) error
}

func allRoutes() []route {
	const instances, one, operations, subscriptions = "vnf_instances", "vnf_instances/{id}", "vnf_lcm_op_occs", "subscriptions"
	return []route{
		{http.MethodGet, instances, "index", listInstances},
		{http.MethodPost, instances, "create", createInstance},
		{http.MethodGet, one, "show", showInstance},
		{http.MethodPatch, one, "update", modifyInstance},
		{http.MethodDelete, one, "delete", deleteInstance},
		{http.MethodPost, one + "/instantiate", "instantiate", instantiate},
		{http.MethodPost, one + "/scale", "scale", scale},
		{http.MethodPost, one + "/heal", "heal", heal},
		{http.MethodPost, one + "/change_vnfpkg", "change_vnfpkg", changePackage},
		{http.MethodPost, one + "/terminate", "terminate", terminate},
		{http.MethodGet, operations, "lcm_op_occ_list", listOperations},
		{http.MethodGet, operations + "/{id}", "lcm_op_occ_show", showOperation},
		{http.MethodPost, operations + "/{id}/retry", "lcm_op_occ_retry", retryOperation},
		{http.MethodPost, operations + "/{id}/rollback", "lcm_op_occ_rollback", rollBackOperation},
		{http.MethodPost, operations + "/{id}/fail", "lcm_op_occ_fail", failOperation},
		{http.MethodGet, subscriptions, "subscription_list", listSubscriptions},
		{http.MethodPost, subscriptions, "subscription_create", createSubscription},
		{http.MethodGet, subscriptions + "/{id}", "subscription_show", showSubscription},
		{http.MethodDelete, subscriptions + "/{id}", "subscription_delete", deleteSubscription},
	}
}

// PolicyDefaults are the rules without a policy file: Tacker lets everybody do
// everything; here readers read and members of the project change.
func PolicyDefaults() map[string]string {
	rules := map[string]string{
		"context_is_admin":        "role:admin",
		"project_member":          "role:member and project_id:%(project_id)s",
		"project_reader":          "role:reader and project_id:%(project_id)s",
		"admin_or_project_member": "rule:context_is_admin or rule:project_member",
		"admin_or_project_reader": "rule:context_is_admin or rule:project_reader",
	}
	for _, r := range allRoutes() {
		rules[PolicyPrefix+r.rule] = "rule:admin_or_project_member"
		if r.method == http.MethodGet {
			rules[PolicyPrefix+r.rule] = "rule:admin_or_project_reader"
		}
	}
	return rules
}

func (s *Server) routes() *http.ServeMux {
	byPattern := map[string]map[string]route{}
	for _, r := range allRoutes() {
		if byPattern[r.pattern] == nil {
			byPattern[r.pattern] = map[string]route{}
		}
		byPattern[r.pattern][r.method] = r
	}
	mux := http.NewServeMux()
	for pattern, of := range byPattern {
		mux.HandleFunc(view.Root+"/"+pattern, func(_ http.ResponseWriter, r *http.Request) {
			c, _ := r.Context().Value(callKey{}).(*call)
			c.r, c.route = r, view.Root+"/"+pattern
			c.err = c.dispatch(of)
		})
	}
	mux.HandleFunc("/", func(_ http.ResponseWriter, r *http.Request) {
		c, _ := r.Context().Value(callKey{}).(*call)
		c.err = refuse(http.StatusNotFound, "The resource could not be found.")
	})
	return mux
}

// dispatch chooses the operation of a known path, and checks what all have in common.
func (c *call) dispatch(of map[string]route) error {
	o, ok := of[c.r.Method]
	if !ok {
		return c.notAllowed(slices.Sorted(maps.Keys(of))...)
	}
	if err := c.version(); err != nil {
		return err
	}
	if !acceptable(c.r.Header.Values("Accept")) {
		return refuse(http.StatusNotAcceptable, "Answers are application/json.")
	}
	who := c.token.Caller()
	if rule := PolicyPrefix + o.rule; !c.s.o.Policy.Allowed(rule, who, policy.Target{ProjectID: who.ProjectID, UserID: who.UserID}) {
		return refuse(http.StatusForbidden, "Policy doesn't allow %s to be performed.", rule)
	}
	leave, err := c.s.lanes.Enter(c.r, who.ProjectID)
	if err != nil {
		return err
	}
	defer leave()
	return o.do(c)
}

// versionText is a version, perhaps with that of an implementation (SOL013, 9.1).
var versionText = regexp.MustCompile(`^(\d+\.\d+\.\d+)(-impl:.+)?$`)

func (c *call) version() error {
	asked := c.r.Header.Get("Version")
	found := versionText.FindStringSubmatch(asked)
	switch {
	case asked == "":
		return refuse(http.StatusBadRequest, "'Version' HTTP header missing.")
	case found == nil:
		return refuse(http.StatusBadRequest, "The header Version is not like %s.", callback.Version)
	case found[1] != callback.Version:
		return refuse(http.StatusNotAcceptable, "Version %s is not supported; %s is.", found[1], callback.Version)
	}
	return nil
}

// acceptable reports whether a client takes JSON.
func acceptable(headers []string) bool {
	ranges := strings.Split(strings.Join(headers, ","), ",")
	return len(headers) == 0 || slices.ContainsFunc(ranges, func(text string) bool {
		media, params, err := mime.ParseMediaType(text)
		return err == nil && params["q"] != "0" && slices.Contains([]string{"application/json", "application/*", "*/*", "text/plain"}, media)
	})
}
