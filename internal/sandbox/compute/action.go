package compute

import (
	"net/http"
	"slices"

	"github.com/slipway-sh/slipway/internal/sandbox/api"
	"github.com/slipway-sh/slipway/internal/sandbox/model"
	"github.com/slipway-sh/slipway/internal/sandbox/store"
)

// begin records that an action on a server has begun and returns its id.
func (s *service) begin(tx *store.Tx, c *api.Call, v model.Server, action, event string) string {
	now := s.env.Timing.Now()
	a := model.ServerAction{ID: v.ID + "/" + c.ID, RequestID: c.ID, ServerID: v.ID, Action: action,
		ProjectID: c.Principal.ProjectID, UserID: c.Principal.UserID(), StartTime: now, UpdatedAt: now}
	if event != "" {
		a.Events = []model.ServerActionEvent{{Event: event, StartTime: now, Host: v.Host}}
	}
	s.model.Actions.Put(tx, a)
	return a.ID
}

// end records how an action ended: an empty problem is success.
func (s *service) end(tx *store.Tx, id, host, problem string) {
	s.model.Actions.Change(tx, id, func(a *model.ServerAction) {
		now := s.env.Timing.Now()
		a.UpdatedAt = now
		if problem != "" {
			a.Message = "Error"
		}
		for i := range a.Events {
			e := &a.Events[i]
			e.FinishTime, e.Result, e.Details = &now, "Success", problem
			if problem != "" {
				e.Result = "Error"
			}
			if e.Host == "" {
				e.Host = host
			}
		}
	})
}

func (s *service) instanceActionRoutes() []api.Route {
	return []api.Route{
		{Pattern: "GET /v2.1/servers/{id}/os-instance-actions", Role: api.Reader, Handle: s.listActions},
		{Pattern: "GET /v2.1/servers/{id}/os-instance-actions/{request}", Role: api.Reader, Handle: s.showAction},
	}
}

// actionView is an action as clients see it; its attributes are what lists
// filter by.
type actionView struct {
	Action    string  `json:"action"`
	ServerID  string  `json:"instance_uuid"`
	RequestID string  `json:"request_id"`
	UserID    string  `json:"user_id"`
	ProjectID string  `json:"project_id"`
	StartTime string  `json:"start_time"`
	UpdatedAt string  `json:"updated_at,omitempty"`
	Message   *string `json:"message"`
}

func newActionView(c *api.Call, a model.ServerAction) actionView {
	v := actionView{Action: a.Action, ServerID: a.ServerID, RequestID: a.RequestID, UserID: a.UserID, ProjectID: a.ProjectID,
		StartTime: a.StartTime.Format(micros), Message: orNull(a.Message)}
	if c.Version.AtLeast(2, 58) {
		v.UpdatedAt = a.UpdatedAt.Format(micros)
	}
	return v
}

func (s *service) listActions(c *api.Call) error {
	return c.View(func(r store.Reader) error {
		v, err := s.find(c, r)
		if err != nil {
			return err
		}
		all := slices.Collect(s.model.ActionsOf.Each(r, v.ID))
		slices.Reverse(all) // the latest is first
		list := api.List[actionView]{Key: "instanceActions", ID: func(a actionView) string { return a.RequestID },
			Filters: map[string]api.Filter[actionView]{
				"changes-since": func(a actionView, at []string) bool {
					since, err := parseTime(at[0])
					return err != nil || a.UpdatedAt >= since.Format(micros)
				},
				"changes-before": func(a actionView, at []string) bool {
					before, err := parseTime(at[0])
					return err != nil || a.UpdatedAt <= before.Format(micros)
				}}}
		if c.Version.AtLeast(2, 58) {
			list.MaxLimit = 1000
			list.Links = actionLinks
		}
		return list.Reply(c, func(yield func(actionView) bool) {
			for _, a := range all {
				if !yield(newActionView(c, a)) {
					return
				}
			}
		})
	})
}

// actionLinks puts the link to the next page under a key without the name of
// the list, as this one call does.
func actionLinks(c *api.Call, p api.Page, key string, body map[string]any) {
	api.NextLinks(c, p, key, body)
	if links, ok := body[key+"_links"]; ok {
		body["links"] = links
		delete(body, key+"_links")
	}
}

func (s *service) showAction(c *api.Call) error {
	return c.View(func(r store.Reader) error {
		v, err := s.find(c, r)
		if err != nil {
			return err
		}
		a, ok := s.model.Actions.Get(r, v.ID+"/"+c.Path("request"))
		if !ok {
			return api.NotFound("Action for request_id %s on instance %s not found", c.Path("request"), v.ID)
		}
		events := []any{}
		for i := range a.Events {
			events = append(events, eventView(c, a.Events[len(a.Events)-1-i]))
		}
		return c.Reply(http.StatusOK, map[string]any{"instanceAction": struct {
			actionView
			Events []any `json:"events"`
		}{newActionView(c, a), events}})
	})
}

func eventView(c *api.Call, e model.ServerActionEvent) map[string]any {
	v := map[string]any{"event": e.Event, "start_time": e.StartTime.Format(micros), "finish_time": text(e.FinishTime, micros),
		"result": orNull(e.Result)}
	if c.Principal.Admin() {
		v["traceback"] = orNull(e.Details)
	}
	if c.Version.AtLeast(2, 62) {
		if c.Principal.Admin() {
			v["host"] = e.Host
		}
		v["hostId"] = e.Host
	}
	if c.Version.AtLeast(2, 84) {
		v["details"] = orNull(e.Details)
	}
	return v
}
