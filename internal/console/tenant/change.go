package tenant

import (
	"cmp"
	"context"
	"errors"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/slipway-sh/slipway/internal/console/frame"
	"github.com/slipway-sh/slipway/internal/console/words"
)

// request is one look at a form, or its sending.
type request struct {
	*visitor
	ctx context.Context
	// id and group are of the address.
	id, group string
	// now is the cluster as it is.
	now description
	// quick lets forms offer what they have offered shortly before.
	quick bool
}

// name is the cluster's, or what is known of it.
func (q *request) name() string { return cmp.Or(q.now.Name, q.id) }

// change is something that a tenant changes by a form.
type change struct {
	form func(*request) *form
	// check says what is wrong with the fields together, known what the cloud does not have.
	// The second is told only while somebody types: the Magnum API decides. Both may be nil.
	check, known func(*request, *form)
	// cost is what the form takes of the quota; nil is nothing.
	cost func(*request, *form) cost
	// do sends it to the Magnum API, and returns the page that follows.
	do func(*request, *form) (to string, err error)
}

// changeTime bounds what a form asks of the cloud.
const changeTime = 45 * time.Second

// open makes a form with what is known now. If the cloud does not answer, it is what was read
// before, and the form says so.
func (c change) open(r *http.Request, v *visitor) (*request, *form, context.CancelFunc) {
	ctx, cancel := context.WithTimeout(r.Context(), changeTime)
	q := &request{visitor: v, ctx: ctx, id: r.PathValue("id"), group: r.PathValue("group"), quick: r.Header.Get("Accept") == jsonType}
	var failed error
	if q.id != "" {
		if q.now, failed = v.describe(ctx, q.id); failed != nil {
			q.now = v.cluster.Of(q.id).Look(ctx).Value
		}
	}
	f := c.form(q)
	if failed != nil {
		f.trouble = append(f.trouble, frame.Troubles(words.T("the cluster"), frame.Reading[description]{Err: failed})...)
		if status(failed) == http.StatusNotFound {
			f.missing = http.StatusNotFound
		}
	}
	if f.Back == "" {
		f.Back = "/clusters/" + q.id
	}
	return q, f, cancel
}

// ask shows a form, with what was typed if the session ended meanwhile.
func (s *Server) ask(w http.ResponseWriter, r *http.Request, v *visitor, c change) {
	q, f, cancel := c.open(r, v)
	defer cancel()
	if before, ok := r.Context().Value(typed{}).(url.Values); ok && f.missing == 0 {
		f.fill(before)
		f.Restored = true
	}
	c.count(q, f)
	if v.gone.Load() {
		s.outside(w, r)
		return
	}
	s.showForm(w, r, f, f.missing)
}

// change does what a form asks for, or shows it again with what is wrong and all that was
// typed.
func (s *Server) change(w http.ResponseWriter, r *http.Request, v *visitor, c change) {
	q, f, cancel := c.open(r, v)
	defer cancel()
	f.fill(r.PostForm)
	if v.gone.Load() {
		s.outside(w, r)
		return
	}
	good := c.judge(q, f)
	if r.PostForm.Get("do") == "check" {
		s.checked(w, r, c, q, f)
		return
	}
	if !good {
		c.count(q, f)
		s.showForm(w, r, f, http.StatusUnprocessableEntity)
		return
	}
	to, err := c.do(q, f)
	if v.gone.Load() {
		s.outside(w, r)
		return
	}
	if err != nil {
		c.count(q, f)
		s.o.Log.InfoContext(r.Context(), "refused", "user_id", v.userID, "project_id", v.projectID, "path", r.URL.Path, "error", err.Error())
		s.showForm(w, r, f, told(f, err))
		return
	}
	s.o.Log.InfoContext(r.Context(), "changed", "user_id", v.userID, "project_id", v.projectID, "path", r.URL.Path)
	v.stale()
	http.Redirect(w, r, to, http.StatusSeeOther)
}

// elsewhere says that somebody else changed what the form is about.
type elsewhere struct{ words.Text }

// Error is what has changed.
func (e elsewhere) Error() string { return e.String() }

// told puts an error into the form and returns the status of the page.
func told(f *form, err error) int {
	var other elsewhere
	if errors.As(err, &other) {
		f.Error = other.Text
		return http.StatusConflict
	}
	var refused *refusal
	if !errors.As(err, &refused) {
		f.Error = words.Said(err.Error())
		return http.StatusBadGateway
	}
	if refused.Status >= http.StatusInternalServerError {
		f.trouble = append(f.trouble, frame.Trouble{What: words.T("the answer of the Magnum API"), Why: refused.Detail, Fix: refused.Fix})
		f.Error = words.T("Nothing is known to have changed. What you typed is still here.")
		return http.StatusBadGateway
	}
	f.place(refused.problem)
	return refused.Status
}

func (s *Server) showForm(w http.ResponseWriter, r *http.Request, f *form, code int) {
	nav := "/clusters"
	if strings.HasSuffix(r.URL.Path, "/clusters/new") {
		nav = "/clusters/new"
	}
	s.site.Show(w, r, frame.Page{Template: "form", Nav: nav}, frame.View{Title: f.Title, Data: f, Trouble: f.trouble, Final: true, Checked: true, Status: code})
}
