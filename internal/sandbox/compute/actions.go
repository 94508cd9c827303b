package compute

import (
	"encoding/json"
	"net/http"
	"slices"
	"time"

	"github.com/slipway-sh/slipway/internal/sandbox/api"
	"github.com/slipway-sh/slipway/internal/sandbox/model"
	"github.com/slipway-sh/slipway/internal/sandbox/store"
)

func (s *service) actionRoutes() []api.Route {
	return []api.Route{
		{Pattern: "POST /v2.1/servers/{id}/action", Role: api.Member, Handle: s.act},
		{Pattern: "POST /v2.1/servers/{id}/remote-consoles", Role: api.Member, Handle: s.remoteConsole},
	}
}

// act does the action that the only key of the body names.
func (s *service) act(c *api.Call) error {
	var body map[string]json.RawMessage
	if err := c.Decode(&body); err != nil {
		return err
	}
	name, in, ok := only(body)
	if !ok {
		return api.BadRequest("There must be exactly one action in the body")
	}
	handle, ok := s.actions()[name]
	if !ok {
		return api.BadRequest("There is no such action: %s", name)
	}
	if slices.Contains(adminActions(), name) && !c.Principal.Admin() {
		return api.Forbidden("Policy doesn't allow os_compute_api:servers:%s to be performed.", name)
	}
	return handle(c, in)
}

// adminActions returns the actions that only administrators may do.
func adminActions() []string {
	return []string{"os-resetState", "migrate", "os-migrateLive", "resetNetwork", "injectNetworkInfo", "shelveOffload"}
}

type action func(c *api.Call, in json.RawMessage) error

// actions returns the operations by their key in the body. Some have a handler of their own, the
// others only begin a task.
func (s *service) actions() map[string]action {
	return map[string]action{
		"os-stop":          s.task(rule{"stop", "stop", states(model.ServerActive, model.ServerError)}, taskPoweringOff, 3*time.Second),
		"os-start":         s.task(rule{"start", "start", states(model.ServerStopped)}, taskPoweringOn, 3*time.Second),
		"pause":            s.task(rule{"pause", "pause", states(model.ServerActive)}, taskPausing, time.Second),
		"unpause":          s.task(rule{"unpause", "unpause", states(model.ServerPaused)}, taskUnpausing, time.Second),
		"suspend":          s.task(rule{"suspend", "suspend", states(model.ServerActive)}, taskSuspending, 2*time.Second),
		"resume":           s.task(rule{"resume", "resume", states(model.ServerSuspended)}, taskResuming, 2*time.Second),
		"unrescue":         s.task(rule{"unrescue", "unrescue", states(model.ServerRescued)}, taskUnrescuing, 3*time.Second),
		"revertResize":     s.task(rule{"revert_resize", "revertResize", states(model.ServerResized)}, taskReverting, 3*time.Second),
		"shelve":           s.task(rule{"shelve", "shelve", shelvable()}, taskShelving, 3*time.Second),
		"shelveOffload":    s.task(rule{"shelve_offload", "shelveOffload", states(model.ServerShelved)}, taskOffloading, time.Second),
		"unshelve":         s.unshelveAction,
		"reboot":           s.rebootAction,
		"lock":             s.lock,
		"unlock":           s.unlock,
		"rebuild":          s.rebuildAction,
		"resize":           s.resizeAction,
		"confirmResize":    s.confirmResize,
		"migrate":          s.migrateAction,
		"os-migrateLive":   s.liveMigrateAction,
		"rescue":           s.rescueAction,
		"forceDelete":      s.forceDelete,
		"restore":          s.undelete,
		"os-resetState":    s.resetState,
		"changePassword":   s.changePassword,
		"createImage":      s.createImage,
		"addSecurityGroup": func(c *api.Call, in json.RawMessage) error { return s.securityGroup(c, in, true) },
		"removeSecurityGroup": func(c *api.Call, in json.RawMessage) error {
			return s.securityGroup(c, in, false)
		},
		"addFloatingIp":       s.addFloatingIP,
		"removeFloatingIp":    s.removeFloatingIP,
		"os-getConsoleOutput": s.consoleOutput,
		"os-getVNCConsole":    func(c *api.Call, in json.RawMessage) error { return s.oldConsole(c, in) },
		"os-getSPICEConsole":  func(c *api.Call, in json.RawMessage) error { return s.oldConsole(c, in) },
		"os-getSerialConsole": func(c *api.Call, in json.RawMessage) error { return s.oldConsole(c, in) },
		"resetNetwork":        s.nothing,
		"injectNetworkInfo":   s.nothing,
	}
}

func states(names ...string) []string { return names }

func shelvable() []string {
	return states(model.ServerActive, model.ServerStopped, model.ServerPaused, model.ServerSuspended)
}

// rule says in which states of a server an action is allowed. Name is the name of Nova's method,
// for messages; action is the name in the list of actions.
type rule struct {
	name, action string
	states       []string
}

func badState(v model.Server, name, attribute, state string) error {
	return api.Conflict("Cannot '%s' instance %s while it is in %s %s", name, v.ID, attribute, state)
}

// check refuses an action that the state of a server does not allow.
func (rule rule) check(v model.Server) error {
	if !slices.Contains(rule.states, v.VMState) {
		return badState(v, rule.name, "vm_state", v.VMState)
	}
	if v.TaskState != "" {
		return badState(v, rule.name, "task_state", v.TaskState)
	}
	if v.Host == "" && v.VMState != model.ServerOffloaded { // it never got one
		return api.Conflict("Instance %s is not ready", v.ID)
	}
	return nil
}

// unlocked refuses calls on locked servers, but not those of administrators.
func unlocked(c *api.Call, v model.Server) error {
	if v.Locked && !c.Principal.Admin() {
		return api.Conflict("Instance %s is locked", v.ID)
	}
	return nil
}

// do checks the rule, edits the server in the path, and answers 202 unless edit has answered. It
// records the action.
func (s *service) do(c *api.Call, rule rule, edit func(tx *store.Tx, n *model.Server) error) error {
	return c.Update(func(tx *store.Tx) error {
		v, err := s.find(c, tx)
		if err != nil {
			return err
		}
		if err := unlocked(c, v); err != nil {
			return err
		}
		if err := rule.check(v); err != nil {
			return err
		}
		id := s.begin(tx, c, v, rule.action, "compute_"+rule.name+"_instance")
		if err := c.Reply(http.StatusAccepted, nil); err != nil {
			return err
		}
		s.model.Servers.Change(tx, v.ID, func(n *model.Server) {
			n.ActionID, n.UpdatedAt = id, s.env.Timing.Now()
			err = edit(tx, n)
		})
		return err
	})
}

// task is an action that does nothing but begin a task.
func (s *service) task(rule rule, task string, usual time.Duration) action {
	return func(c *api.Call, _ json.RawMessage) error {
		return s.do(c, rule, func(_ *store.Tx, n *model.Server) error {
			s.start(n, task, usual)
			return nil
		})
	}
}

func (s *service) nothing(c *api.Call, _ json.RawMessage) error {
	return c.View(func(r store.Reader) error {
		if _, err := s.find(c, r); err != nil {
			return err
		}
		return c.Reply(http.StatusAccepted, nil)
	})
}

func (s *service) rebootAction(c *api.Call, in json.RawMessage) error {
	var asked struct {
		Type string `json:"type"`
	}
	if err := parse(in, &asked); err != nil {
		return err
	}
	switch asked.Type {
	case "SOFT", "soft", "Soft":
		return s.task(rule{"reboot", "reboot", states(model.ServerActive)}, taskRebooting, 3*time.Second)(c, in)
	case "HARD", "hard", "Hard":
		from := states(model.ServerActive, model.ServerStopped, model.ServerPaused, model.ServerSuspended, model.ServerError)
		return s.task(rule{"reboot", "reboot", from}, taskRebootingHard, 3*time.Second)(c, in)
	}
	return api.BadRequest("Invalid input for field/attribute type. Value: %s. %q is not one of ['HARD', 'Hard', 'hard', 'SOFT', 'Soft', 'soft']", asked.Type, asked.Type)
}

func (s *service) unshelveAction(c *api.Call, in json.RawMessage) error {
	var asked struct {
		Zone api.Optional[string] `json:"availability_zone"`
	}
	if err := parse(in, &asked); err != nil {
		return err
	}
	return s.do(c, rule{"unshelve", "unshelve", states(model.ServerShelved, model.ServerOffloaded)}, func(tx *store.Tx, n *model.Server) error {
		if asked.Zone.Set && c.Version.AtLeast(2, 77) {
			if names, _ := s.zones(tx); asked.Zone.Value != "" && !slices.Contains(names, asked.Zone.Value) {
				return api.BadRequest("The requested availability zone is not available")
			}
			n.PinnedZone = asked.Zone.Value
		}
		s.start(n, taskUnshelving, 3*time.Second)
		return nil
	})
}
