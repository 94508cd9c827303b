package identity

import (
	"encoding/json"
	"slices"

	"github.com/slipway-sh/slipway/internal/sandbox/api"
	"github.com/slipway-sh/slipway/internal/sandbox/model"
	"github.com/slipway-sh/slipway/internal/sandbox/store"
)

// reference names an object by its id, or by its name in a domain.
type reference struct {
	ID     string     `json:"id"`
	Name   string     `json:"name"`
	Domain *reference `json:"domain"`
}

type authRequest struct {
	Identity struct {
		Methods  []string `json:"methods"`
		Password *struct {
			User struct {
				reference
				Password string `json:"password"`
			} `json:"user"`
		} `json:"password"`
		Token *struct {
			ID string `json:"id"`
		} `json:"token"`
		AppCred *struct {
			ID     string    `json:"id"`
			Name   string    `json:"name"`
			User   reference `json:"user"`
			Secret string    `json:"secret"`
		} `json:"application_credential"`
	} `json:"identity"`
	Scope json.RawMessage `json:"scope"`
}

// login is what the methods of a request proved, on the way to a token.
type login struct {
	token model.Token
	// parent is the token that was given to the method token.
	parent *model.Token
}

// login checks every method of a request. Each has to succeed, and all have to name the same user.
func (k *Keystone) login(in authRequest) (login, error) {
	if len(in.Identity.Methods) == 0 {
		return login{}, api.BadRequest("Expecting to find methods in identity. The server could not comply with the request since it is either malformed or otherwise incorrect. The client is assumed to be in error.")
	}
	var l login
	for _, method := range in.Identity.Methods {
		before := l.token.UserID
		var err error
		switch {
		case method == "password" && in.Identity.Password != nil:
			err = k.byPassword(in, &l)
		case method == "token" && in.Identity.Token != nil:
			err = k.byToken(in, &l)
		case method == "application_credential" && in.Identity.AppCred != nil:
			err = k.byAppCred(in, &l)
		case slices.Contains([]string{"password", "token", "application_credential"}, method):
			err = api.BadRequest("Expecting to find %s in identity. The server could not comply with the request since it is either malformed or otherwise incorrect. The client is assumed to be in error.", method)
		default:
			err = api.Errorf(401, "", "Attempted to authenticate with an unsupported method.")
		}
		if err != nil {
			return login{}, err
		}
		if before != "" && before != l.token.UserID {
			return login{}, api.Unauthorized()
		}
		if !slices.Contains(l.token.Methods, method) {
			l.token.Methods = append(l.token.Methods, method)
		}
	}
	return l, nil
}

func (k *Keystone) byPassword(in authRequest, l *login) error {
	ref := in.Identity.Password.User
	if ref.ID == "" && (ref.Name == "" || ref.Domain == nil) {
		return api.BadRequest("Expecting to find domain in user. The server could not comply with the request since it is either malformed or otherwise incorrect. The client is assumed to be in error.")
	}
	user, found := k.lookUpUser(ref.reference)
	if !k.secrets.verify(user.Hash, ref.Password) || !found || expired(user.PasswordExpires, k.env.Timing.Now()) {
		return api.Unauthorized()
	}
	l.token.UserID = user.ID
	return nil
}

func (k *Keystone) lookUpUser(ref reference) (user model.User, found bool) {
	_ = k.env.Store.View(func(r store.Reader) error {
		id := ref.ID
		if id == "" {
			domainID := k.domainID(r, ref.Domain)
			for u := range k.model.UsersByName.Each(r, ref.Name) {
				if u.DomainID == domainID {
					id = u.ID
				}
			}
		}
		user, found = k.usable(r, id)
		return nil
	})
	return user, found
}

func (k *Keystone) domainID(r store.Reader, ref *reference) string {
	if ref == nil {
		return ""
	}
	if ref.ID != "" {
		return ref.ID
	}
	for p := range k.model.ProjectsByName.Each(r, ref.Name) {
		if p.IsDomain {
			return p.ID
		}
	}
	return ""
}

// byToken creates a token from a token: it lives no longer than that one, and a token that acts for
// another user cannot be exchanged.
func (k *Keystone) byToken(in authRequest, l *login) error {
	p, err := k.Authenticate(in.Identity.Token.ID)
	if err != nil {
		return api.NotFound("Could not recognize Fernet token")
	}
	if p.Token.TrustID != "" {
		return api.Forbidden("You are not authorized to perform the requested action: rescope a scoped token.")
	}
	l.parent = &p.Token
	l.token.UserID, l.token.AppCredID = p.Token.UserID, p.Token.AppCredID
	l.token.Methods = slices.Clone(p.Token.Methods)
	return nil
}

func (k *Keystone) byAppCred(in authRequest, l *login) error {
	asked := in.Identity.AppCred
	if asked.ID == "" && (asked.Name == "" || (asked.User.ID == "" && asked.User.Domain == nil)) {
		return api.BadRequest("Expecting to find user in application_credential. The server could not comply with the request since it is either malformed or otherwise incorrect. The client is assumed to be in error.")
	}
	var cred model.ApplicationCredential
	if asked.ID == "" {
		asked.User.ID = k.userID(asked.User)
	}
	_ = k.env.Store.View(func(r store.Reader) error {
		cred, _ = k.model.AppCreds.Get(r, asked.ID)
		for c := range k.model.AppCredsOf.Each(r, asked.User.ID) {
			if asked.ID == "" && c.Name == asked.Name {
				cred = c
			}
		}
		return nil
	})
	// Keystone tells which ids there are: a credential that was deleted is
	// another error than a wrong secret.
	if cred.ID == "" && asked.ID != "" {
		return api.NotFound("Could not find Application Credential: %s.", asked.ID)
	}
	if !k.secrets.verify(cred.Hash, asked.Secret) || expired(cred.ExpiresAt, k.env.Timing.Now()) {
		return api.Unauthorized()
	}
	l.token.UserID, l.token.AppCredID = cred.UserID, cred.ID
	return nil
}

func (k *Keystone) userID(ref reference) string {
	user, _ := k.lookUpUser(ref)
	return user.ID
}
