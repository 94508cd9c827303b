package volume

import (
	"net/http"
	"time"

	"github.com/slipway-sh/slipway/internal/sandbox/api"
	"github.com/slipway-sh/slipway/internal/sandbox/model"
	"github.com/slipway-sh/slipway/internal/sandbox/store"
)

// messageLife is how long a message is kept at least, and here at most.
const messageLife = 30 * 24 * time.Hour

func (s *service) messageRoutes() []api.Route {
	return []api.Route{
		{Pattern: "GET /v3/messages", Role: api.Reader, Handle: since(3, s.listMessages)},
		{Pattern: "GET /v3/messages/{id}", Role: api.Reader, Handle: since(3, s.showMessage)},
		{Pattern: "DELETE /v3/messages/{id}", Role: api.Member, Handle: since(3, s.deleteMessage)},
	}
}

// tell leaves a message for the owner of something that an operation failed on.
func (s *service) tell(tx *store.Tx, project, resource, id string, cause error) {
	now := s.env.Timing.Now()
	for m := range s.model.Messages.All(tx) {
		if now.After(m.ExpiresAt) {
			s.model.Messages.Delete(tx, m.ID)
		}
	}
	event, text := resource+"_"+resource+"_001_001", cause.Error()
	if cause == errNoBackend {
		event, text = "VOLUME_VOLUME_001_002", "schedule allocate volume:Could not find any available weighted backend."
	}
	s.model.Messages.Put(tx, model.VolumeMessage{ID: model.NewID(), ProjectID: project, EventID: event,
		RequestID: "req-" + model.NewID(), Resource: resource, ResourceID: id, Level: "ERROR", Text: text,
		CreatedAt: now, ExpiresAt: now.Add(messageLife)})
}

// messageView is a message as clients see it.
type messageView struct {
	ID         string     `json:"id"`
	EventID    string     `json:"event_id"`
	RequestID  string     `json:"request_id"`
	Resource   string     `json:"resource_type"`
	ResourceID string     `json:"resource_uuid"`
	Level      string     `json:"message_level"`
	Text       string     `json:"user_message"`
	CreatedAt  string     `json:"created_at"`
	ExpiresAt  string     `json:"guaranteed_until"`
	Links      []api.Link `json:"links"`
}

func newMessageView(c *api.Call, m model.VolumeMessage) messageView {
	return messageView{m.ID, m.EventID, m.RequestID, m.Resource, m.ResourceID, m.Level, m.Text, stamp(m.CreatedAt),
		stamp(m.ExpiresAt), links(c, "messages", m.ID)}
}

func (s *service) message(c *api.Call, r store.Reader) (model.VolumeMessage, error) {
	m, ok := s.model.Messages.Get(r, c.Path("id"))
	if !ok || !c.Principal.Owns(m.ProjectID) {
		return m, api.NotFound("Message %s could not be found.", c.Path("id"))
	}
	return m, nil
}

func (s *service) listMessages(c *api.Call) error {
	list := api.List[messageView]{Key: "messages", ID: func(m messageView) string { return m.ID },
		Sort: []string{"created_at:desc"}, MaxLimit: 1000, Links: nextLinks}
	return c.View(func(r store.Reader) error {
		return list.Reply(c, func(yield func(messageView) bool) {
			for m := range s.model.Messages.All(r) {
				if m.ProjectID == c.Principal.ProjectID && !yield(newMessageView(c, m)) {
					return
				}
			}
		})
	})
}

func (s *service) showMessage(c *api.Call) error {
	return c.View(func(r store.Reader) error {
		m, err := s.message(c, r)
		if err != nil {
			return err
		}
		return c.Reply(http.StatusOK, map[string]any{"message": newMessageView(c, m)})
	})
}

func (s *service) deleteMessage(c *api.Call) error {
	return c.Update(func(tx *store.Tx) error {
		m, err := s.message(c, tx)
		if err != nil {
			return err
		}
		s.model.Messages.Delete(tx, m.ID)
		return c.Reply(http.StatusNoContent, nil)
	})
}
