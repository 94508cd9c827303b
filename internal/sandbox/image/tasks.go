package image

import (
	"encoding/json"
	"iter"
	"net/http"
	"time"

	"github.com/slipway-sh/slipway/internal/sandbox/api"
	"github.com/slipway-sh/slipway/internal/sandbox/model"
	"github.com/slipway-sh/slipway/internal/sandbox/store"
)

// taskLife is how long a task is kept after its end.
const taskLife = 48 * time.Hour

func (s *service) taskRoutes() []api.Route {
	return []api.Route{
		{Pattern: "GET /v2/tasks", Role: api.Reader, Handle: s.listTasks},
		{Pattern: "POST /v2/tasks", Role: api.Admin, Handle: s.createTask},
		{Pattern: "GET /v2/tasks/{task}", Role: api.Reader, Handle: s.showTask},
		{Pattern: "GET /v2/images/{id}/tasks", Role: api.Reader, Handle: s.imageTasks},
	}
}

// taskView is a task as clients see it.
type taskView struct {
	ID        string         `json:"id"`
	Type      string         `json:"type"`
	Status    string         `json:"status"`
	Owner     string         `json:"owner"`
	Message   string         `json:"message"`
	Input     map[string]any `json:"input,omitempty"`
	Result    map[string]any `json:"result"`
	ImageID   string         `json:"image_id"`
	RequestID string         `json:"request_id"`
	UserID    string         `json:"user_id"`
	CreatedAt string         `json:"created_at"`
	UpdatedAt string         `json:"updated_at"`
	ExpiresAt *string        `json:"expires_at,omitempty"`
	Self      string         `json:"self"`
	Schema    string         `json:"schema"`
}

func newTaskView(t model.ImageTask) taskView {
	v := taskView{ID: t.ID, Type: t.Type, Status: t.Status, Owner: t.ProjectID, Message: t.Message, Input: t.Input,
		Result: t.Result, ImageID: t.ImageID, RequestID: t.RequestID, UserID: t.UserID, CreatedAt: stamp(t.CreatedAt),
		UpdatedAt: stamp(t.UpdatedAt), Self: "/v2/tasks/" + t.ID, Schema: "/v2/schemas/task"}
	if t.ExpiresAt != nil {
		v.ExpiresAt = orNull(stamp(*t.ExpiresAt))
	}
	return v
}

func (s *service) newTask(tx *store.Tx, c *api.Call, kind, imageID string, input map[string]any) string {
	now := s.env.Timing.Now()
	task := model.ImageTask{ID: model.NewID(), Type: kind, Status: "pending", ProjectID: c.Principal.ProjectID,
		UserID: c.Principal.UserID(), ImageID: imageID, RequestID: c.ID, Input: input, CreatedAt: now, UpdatedAt: now}
	s.model.Image.Tasks.Put(tx, task)
	s.expireTasks(tx, now)
	return task.ID
}

func (s *service) expireTasks(tx *store.Tx, now time.Time) {
	for task := range s.model.Image.Tasks.All(tx) {
		if task.ExpiresAt != nil && now.After(*task.ExpiresAt) {
			s.model.Image.Tasks.Delete(tx, task.ID)
		}
	}
}

func (s *service) setTask(tx *store.Tx, id, status, message string) {
	s.model.Image.Tasks.Change(tx, id, func(t *model.ImageTask) {
		t.Status, t.Message, t.UpdatedAt = status, message, s.env.Timing.Now()
		if status == "success" || status == "failure" {
			end := t.UpdatedAt.Add(taskLife)
			t.ExpiresAt = &end
		}
		if status == "success" {
			t.Result = map[string]any{"image_id": t.ImageID}
		}
	})
}

func (s *service) listTasks(c *api.Call) error {
	list := api.List[taskView]{Key: "tasks", ID: func(t taskView) string { return t.ID }, Sort: []string{"created_at:desc"},
		MaxLimit: 1000, Links: func(c *api.Call, p api.Page, key string, body map[string]any) {
			api.PathLinks(c, p, key, body)
			body["schema"] = "/v2/schemas/tasks"
		}}
	return c.View(func(r store.Reader) error {
		return list.Reply(c, func(yield func(taskView) bool) {
			for t := range s.model.Image.Tasks.All(r) {
				v := newTaskView(t)
				v.Input = nil
				if c.Principal.Owns(t.ProjectID) && !yield(v) {
					return
				}
			}
		})
	})
}

func (s *service) showTask(c *api.Call) error {
	return c.View(func(r store.Reader) error {
		t, ok := s.model.Image.Tasks.Get(r, c.Path("task"))
		if !ok || !c.Principal.Owns(t.ProjectID) {
			return api.NotFound("No task found with ID %s", c.Path("task"))
		}
		return c.Reply(http.StatusOK, newTaskView(t))
	})
}

func (s *service) imageTasks(c *api.Call) error {
	return c.View(func(r store.Reader) error {
		v, err := Get(r, s.model, c.Principal, c.Path("id"))
		if err != nil {
			return err
		}
		tasks := []taskView{}
		for t := range s.tasksOf(r, v.ID) {
			tasks = append(tasks, newTaskView(t))
		}
		return c.Reply(http.StatusOK, map[string]any{"tasks": tasks})
	})
}

func (s *service) tasksOf(r store.Reader, imageID string) iter.Seq[model.ImageTask] {
	return func(yield func(model.ImageTask) bool) {
		for t := range s.model.Image.Tasks.All(r) {
			if t.ImageID == imageID && !yield(t) {
				return
			}
		}
	}
}

// createTask is the older way to import, which makes the image too.
func (s *service) createTask(c *api.Call) error {
	var in struct {
		Type  string `json:"type"`
		Input struct {
			From       string                     `json:"import_from"`
			Format     string                     `json:"import_from_format"`
			Properties map[string]json.RawMessage `json:"image_properties"`
		} `json:"input"`
	}
	if err := c.Decode(&in); err != nil {
		return err
	}
	if in.Type != "import" || in.Input.From == "" || in.Input.Properties == nil {
		return api.BadRequest("Input does not contain 'import_from', 'import_from_format' and 'image_properties', or type %q is not import.", in.Type)
	}
	v := model.Image{ID: model.NewID(), ProjectID: c.Principal.ProjectID, Visibility: "private"}
	edit := change{caller: c.Principal, image: &v, creating: true}
	for name, value := range in.Input.Properties {
		if err := edit.put(name, value); err != nil {
			return err
		}
	}
	return c.Update(func(tx *store.Tx) error {
		Create(tx, s.env, v)
		id := s.newTask(tx, c, in.Type, v.ID, map[string]any{"import_from": in.Input.From,
			"import_from_format": in.Input.Format, "image_properties": in.Input.Properties})
		s.beginImport(tx, v.ID, webDownload, in.Input.From, id)
		task, _ := s.model.Image.Tasks.Get(tx, id)
		c.Writer.Header().Set("Location", c.URL("/v2/tasks/"+id))
		return c.Reply(http.StatusCreated, newTaskView(task))
	})
}
