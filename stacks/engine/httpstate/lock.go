package httpstate

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"
)

// Holder is a process that holds a lock. PID is 0 if another program holds it.
type Holder struct {
	User, Host string
	PID        int
	Since      time.Time
}

// Locked is the error of an operation on a state that somebody else has locked. The engine's
// process reports it in Pulumi's own words.
type Locked struct {
	Address string
	Holder  Holder
	// ID is the lock's.
	ID string
}

// Error names the holder.
func (l *Locked) Error() string {
	return fmt.Sprintf("the stack is currently locked by 1 lock(s).\n  %s: created by %s@%s (pid %d) at %s",
		l.Address, l.Holder.User, l.Holder.Host, l.Holder.PID, l.Holder.Since.Format(time.RFC3339))
}

// id returns a lock's ID. The ID names the holder, because GitLab keeps nothing else of a lock.
func (h Holder) id() string {
	return strings.Join([]string{"slipway", url.PathEscape(h.User), url.PathEscape(h.Host), strconv.Itoa(h.PID), strconv.FormatInt(h.Since.Unix(), 10), rand.Text()}, "/")
}

// holderOf reads the holder from one of our IDs.
func holderOf(id string) (Holder, bool) {
	part := strings.Split(id, "/")
	if len(part) != 6 || part[0] != "slipway" {
		return Holder{}, false
	}
	user, err1 := url.PathUnescape(part[1])
	host, err2 := url.PathUnescape(part[2])
	pid, err3 := strconv.Atoi(part[3])
	since, err4 := strconv.ParseInt(part[4], 10, 64)
	return Holder{user, host, pid, time.Unix(since, 0)}, errors.Join(err1, err2, err3, err4) == nil
}

// lockInfo describes a lock as Terraform does. GitLab refuses one that lacks a field.
type lockInfo struct {
	ID, Operation, Info, Who, Version, Created, Path string
}

func newLockInfo(h Holder) lockInfo {
	return lockInfo{ID: h.id(), Operation: "slipway", Info: fmt.Sprintf("process %d", h.PID), Who: h.User + "@" + h.Host,
		Version: "slipway", Created: h.Since.UTC().Format(time.RFC3339), Path: "slipway"}
}

// Lock takes the lock and returns its ID. It refuses a server that gives a lock to two holders.
func (c *Client) Lock(ctx context.Context, h Holder) (string, error) {
	info := newLockInfo(h)
	if err := c.take(ctx, info); err != nil {
		c.letGo(ctx, info.ID, err)
		return "", err
	}
	second := newLockInfo(h)
	err := c.take(ctx, second)
	var locked *Locked
	switch {
	case err == nil:
		cause := c.fault("locking it", errors.New("the server gives the lock to two at once"), "use a server whose locks exclude each other: two runs could change the same environment")
		return "", errors.Join(cause, c.giveBack(ctx, second.ID), c.giveBack(ctx, info.ID))
	case errors.As(err, &locked) && (locked.ID == info.ID || locked.ID == ""):
		return info.ID, nil
	case errors.As(err, &locked):
		return "", err // the server says that it gave the lock to another
	}
	return "", errors.Join(err, c.giveBack(ctx, info.ID))
}

// returnTime bounds the release of a lock after the run has been ended.
const returnTime = 5 * time.Second

// giveBack is Unlock for a lock that was just taken here: a run that is ended meanwhile still
// releases it, because nobody else would.
func (c *Client) giveBack(ctx context.Context, id string) error {
	err := c.Unlock(ctx, id)
	if err == nil || ctx.Err() == nil {
		return err
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), returnTime)
	defer cancel()
	return c.Unlock(ctx, id)
}

// letGo releases a lock if the run was ended before the server's answer arrived: the server may
// have granted it. It drops its own errors: failed reports the failure already.
func (c *Client) letGo(ctx context.Context, id string, failed error) {
	var locked *Locked
	if ctx.Err() == nil || errors.As(failed, &locked) {
		return
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), returnTime)
	defer cancel()
	_ = c.Unlock(ctx, id)
}

// take asks for the lock once.
func (c *Client) take(ctx context.Context, info lockInfo) error {
	const doing = "locking it"
	body, err := json.Marshal(info)
	if err != nil {
		return c.fault(doing, err, "run the command again")
	}
	a, err := c.send(ctx, doing, c.at.lockMethod, c.at.lock, "", body, nil)
	if err != nil {
		return err
	}
	switch {
	case a.in(http.StatusOK, http.StatusCreated, http.StatusNoContent):
		return nil
	case a.in(http.StatusConflict, http.StatusLocked):
		held := read(a.body)
		if held.ID == info.ID {
			return nil // an attempt whose answer was lost
		}
		return &Locked{c.at.state, held.holder(c.at.state), held.ID}
	case a.in(http.StatusNotFound, http.StatusMethodNotAllowed, http.StatusNotImplemented, http.StatusBadRequest):
		return c.fault(doing, fmt.Errorf("the server has no locks: %s %s answered %d%s", c.at.lockMethod, c.at.lock, a.status, said(a.body)),
			"check spec.state.backend; the server must know LOCK and UNLOCK as Terraform's http backend sends them, or be GitLab")
	}
	return c.refused(doing, a)
}

// Unlock releases a lock. It is no error if the lock is gone already.
func (c *Client) Unlock(ctx context.Context, id string) error {
	const doing = "giving back its lock"
	body, err := json.Marshal(lockInfo{ID: id})
	if err != nil {
		return c.fault(doing, err, "run slipway state unlock")
	}
	a, err := c.send(ctx, doing, c.at.unlockVia, c.at.lock, id, body, nil)
	if err != nil {
		return err
	}
	switch {
	case a.in(http.StatusOK, http.StatusAccepted, http.StatusNoContent, http.StatusNotFound):
		return nil
	case a.in(http.StatusConflict, http.StatusLocked):
		return c.taken(doing, a)
	}
	return c.refused(doing, a)
}

// taken returns the error of a change under a lock that somebody else holds by now.
func (c *Client) taken(doing string, a answer) error {
	return c.fault(doing, fmt.Errorf("the lock was taken away%s", holding(a.body)), "wait until no other run works on it, then run the command again")
}

// Held returns who holds the lock, nil if nobody does.
func (c *Client) Held(ctx context.Context, as Holder) (*Locked, error) {
	info := newLockInfo(as)
	err := c.take(ctx, info)
	var locked *Locked
	if errors.As(err, &locked) {
		return locked, nil
	}
	if err != nil {
		c.letGo(ctx, info.ID, err)
		return nil, err
	}
	return nil, c.giveBack(ctx, info.ID)
}

func read(body []byte) lockInfo {
	var info lockInfo
	_ = json.Unmarshal(body, &info) // the protocol lets a server say nothing
	return info
}

// holder returns who holds the lock according to the server.
func (l lockInfo) holder(at string) Holder {
	if h, ours := holderOf(l.ID); ours {
		return h
	}
	user, host, _ := strings.Cut(strings.ReplaceAll(l.Who, " ", "_"), "@")
	since, _ := time.Parse(time.RFC3339, l.Created)
	if user == "" {
		user = "somebody"
	}
	if u, err := url.Parse(at); host == "" && err == nil {
		host = u.Hostname()
	}
	return Holder{User: user, Host: host, Since: since}
}

// holding returns who holds a lock according to the body of an answer, or "" if the body does not
// say.
func holding(body []byte) string {
	info := read(body)
	if info.ID == "" && info.Who == "" {
		return ""
	}
	h := info.holder("")
	return fmt.Sprintf(" by %s on %s", h.User, h.Host)
}
