package identity

import (
	"crypto/rand"
	"encoding/base64"
	"net/http"

	"github.com/slipway-sh/slipway/internal/sandbox/api"
	"github.com/slipway-sh/slipway/internal/sandbox/store"
)

func (k *Keystone) authRoutes() []api.Route {
	const tokens = " /v3/auth/tokens"
	return []api.Route{
		{Pattern: "POST" + tokens, Role: api.Public, Handle: k.issueToken},
		{Pattern: "GET" + tokens, Role: api.Token, Handle: k.validateToken},
		{Pattern: "DELETE" + tokens, Role: api.Token, Handle: k.revokeToken},
		{Pattern: "GET /v3/auth/catalog", Role: api.Token, Handle: k.authCatalog},
		{Pattern: "GET /v3/auth/projects", Role: api.Token, Handle: k.authProjects},
		{Pattern: "GET /v3/auth/domains", Role: api.Token, Handle: k.authDomains},
		{Pattern: "GET /v3/auth/system", Role: api.Token, Handle: k.authSystem},
	}
}

func (k *Keystone) issueToken(c *api.Call) error {
	var in authRequest
	if err := c.DecodeIn("auth", &in); err != nil {
		return err
	}
	l, err := k.login(in)
	if err != nil {
		return err
	}
	return c.Update(func(tx *store.Tx) error {
		l := l
		k.stamp(&l)
		if err := k.rescope(tx, &l, in.Scope); err != nil {
			return err
		}
		return k.issue(c, tx, l, http.StatusCreated)
	})
}

// stamp sets the times and audit ids of a new token. A token that is created from another one
// expires with it.
func (k *Keystone) stamp(l *login) {
	l.token.IssuedAt = k.env.Timing.Now()
	l.token.ExpiresAt = l.token.IssuedAt.Add(k.life)
	l.token.AuditIDs = []string{auditID()}
	if l.parent != nil {
		l.token.ExpiresAt = earliest(l.token.ExpiresAt, &l.parent.ExpiresAt)
		l.token.AuditIDs = append(l.token.AuditIDs, l.parent.AuditIDs[len(l.parent.AuditIDs)-1])
	}
}

func auditID() string {
	raw := make([]byte, 16)
	rand.Read(raw)
	return base64.RawURLEncoding.EncodeToString(raw)
}

// issue stores the token and answers with it; a user without a role in the scope gets none.
func (k *Keystone) issue(c *api.Call, tx *store.Tx, l login, status int) error {
	secret := "gAAAAA" + newSecret()
	l.token.ID = tokenID(secret)
	k.model.Tokens.Put(tx, l.token)
	p, err := k.principal(tx, l.token.ID)
	if err != nil {
		return api.Unauthorized()
	}
	_, skip := c.Request.URL.Query()["nocatalog"]
	c.Writer.Header().Set("X-Subject-Token", secret)
	c.Writer.Header().Add("Vary", "X-Auth-Token")
	return c.Reply(status, map[string]any{"token": k.tokenView(c, tx, p, !skip)})
}

// subject returns the principal of X-Subject-Token, if the token is the caller's own, or the caller
// is an administrator or a service.
func (k *Keystone) subject(c *api.Call, r store.Reader) (*api.Principal, error) {
	p, err := k.principal(r, tokenID(c.Request.Header.Get("X-Subject-Token")))
	if err != nil {
		return nil, api.NotFound("Could not find token.")
	}
	if c.Principal.UserID() != p.UserID() && !c.Principal.Admin() && !c.Principal.Has("service") {
		return nil, denied()
	}
	return p, nil
}

func (k *Keystone) validateToken(c *api.Call) error {
	return c.View(func(r store.Reader) error {
		p, err := k.subject(c, r)
		if err != nil {
			return err
		}
		_, skip := c.Request.URL.Query()["nocatalog"]
		c.Writer.Header().Set("X-Subject-Token", c.Request.Header.Get("X-Subject-Token"))
		c.Writer.Header().Add("Vary", "X-Auth-Token")
		return c.Reply(http.StatusOK, map[string]any{"token": k.tokenView(c, r, p, !skip)})
	})
}

func (k *Keystone) revokeToken(c *api.Call) error {
	return c.Update(func(tx *store.Tx) error {
		p, err := k.subject(c, tx)
		if err != nil {
			return err
		}
		k.model.Tokens.Delete(tx, p.Token.ID)
		return c.Reply(http.StatusNoContent, nil)
	})
}
