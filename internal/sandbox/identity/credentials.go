package identity

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"net/http"
	"slices"

	"github.com/slipway-sh/slipway/internal/sandbox/api"
	"github.com/slipway-sh/slipway/internal/sandbox/model"
	"github.com/slipway-sh/slipway/internal/sandbox/store"
)

type credentialView struct {
	ID        string `json:"id"`
	UserID    string `json:"user_id"`
	ProjectID string `json:"project_id"`
	Type      string `json:"type"`
	Blob      string `json:"blob"`
	Links     self   `json:"links"`
}

func (k *Keystone) newCredentialView(c *api.Call, cred model.Credential) (credentialView, error) {
	blob, err := k.secrets.open(cred.Blob)
	return credentialView{cred.ID, cred.UserID, cred.ProjectID, cred.Type, string(blob), link(c, "/credentials/"+cred.ID)}, err
}

func (k *Keystone) credentialRoutes() []api.Route {
	return []api.Route{
		{Pattern: "GET /v3/credentials", Role: api.Token, Handle: k.listCredentials},
		{Pattern: "POST /v3/credentials", Role: api.Token, Handle: k.createCredential},
		{Pattern: "GET /v3/credentials/{id}", Role: api.Token, Handle: k.showCredential},
		{Pattern: "PATCH /v3/credentials/{id}", Role: api.Token, Handle: k.updateCredential},
		{Pattern: "DELETE /v3/credentials/{id}", Role: api.Token, Handle: k.deleteCredential},
	}
}

// listCredentials lists the caller's own credentials; for administrators, all.
func (k *Keystone) listCredentials(c *api.Call) error {
	return c.View(func(r store.Reader) error {
		var views []credentialView
		for cred := range k.model.Credentials.All(r) {
			if requireSelf(c, cred.UserID) != nil {
				continue
			}
			view, err := k.newCredentialView(c, cred)
			if err != nil {
				return err
			}
			views = append(views, view)
		}
		list := api.List[credentialView]{Key: "credentials", ID: func(v credentialView) string { return v.ID }, Links: api.SelfLinks}
		return list.Reply(c, slices.Values(views))
	})
}

func (k *Keystone) credential(c *api.Call, r store.Reader) (model.Credential, error) {
	cred, err := find(r, k.model.Credentials, "credential", c.Path("id"))
	// Without a credential there is no user who could be the caller: only administrators learn
	// that there is none.
	if denied := requireSelf(c, cred.UserID); denied != nil {
		return cred, denied
	}
	return cred, err
}

func (k *Keystone) replyCredential(c *api.Call, cred model.Credential, status int) error {
	view, err := k.newCredentialView(c, cred)
	if err != nil {
		return err
	}
	return c.Reply(status, map[string]any{"credential": view})
}

func (k *Keystone) showCredential(c *api.Call) error {
	return c.View(func(r store.Reader) error {
		cred, err := k.credential(c, r)
		if err != nil {
			return err
		}
		return k.replyCredential(c, cred, http.StatusOK)
	})
}

type credentialInput struct {
	UserID    api.Optional[string] `json:"user_id"`
	ProjectID api.Optional[string] `json:"project_id"`
	Type      api.Optional[string] `json:"type"`
	Blob      api.Optional[string] `json:"blob"`
}

// put changes a credential. The id of an EC2 credential is derived from its access key, so that
// there is only one for each key.
func (k *Keystone) putCredential(c *api.Call, tx *store.Tx, cred model.Credential, in credentialInput, status int) error {
	in.ProjectID.Apply(&cred.ProjectID)
	in.Type.Apply(&cred.Type)
	if in.Blob.Set {
		cred.Blob = k.secrets.seal([]byte(in.Blob.Value))
	}
	if cred.Type == "" || len(cred.Blob) == 0 {
		return api.BadRequest("Invalid input: 'blob' and 'type' are required properties")
	}
	if cred.Type == "ec2" && in.Blob.Set {
		var pair ec2Pair
		if json.Unmarshal([]byte(in.Blob.Value), &pair) != nil || pair.Access == "" || cred.ProjectID == "" {
			return api.BadRequest("Invalid blob in credential: it needs access and secret, and a project_id.")
		}
		if status == http.StatusCreated {
			cred.ID = ec2ID(pair.Access)
		}
		cred.Access = pair.Access
	}
	if _, taken := k.model.Credentials.Get(tx, cred.ID); taken && status == http.StatusCreated {
		return duplicate("credential", "Duplicate entry found with ID %s", cred.ID)
	}
	k.model.Credentials.Put(tx, cred)
	return k.replyCredential(c, cred, status)
}

func ec2ID(access string) string {
	sum := sha256.Sum256([]byte(access))
	return hex.EncodeToString(sum[:])
}

func (k *Keystone) createCredential(c *api.Call) error {
	var in credentialInput
	if err := c.DecodeIn("credential", &in); err != nil {
		return err
	}
	cred := model.Credential{ID: model.NewKeyID(), UserID: in.UserID.Or(c.Principal.UserID())}
	if err := requireSelf(c, cred.UserID); err != nil {
		return err
	}
	return c.Update(func(tx *store.Tx) error { return k.putCredential(c, tx, cred, in, http.StatusCreated) })
}

func (k *Keystone) updateCredential(c *api.Call) error {
	var in credentialInput
	if err := c.DecodeIn("credential", &in); err != nil {
		return err
	}
	return c.Update(func(tx *store.Tx) error {
		cred, err := k.credential(c, tx)
		if err != nil {
			return err
		}
		return k.putCredential(c, tx, cred, in, http.StatusOK)
	})
}

func (k *Keystone) deleteCredential(c *api.Call) error {
	return c.Update(func(tx *store.Tx) error {
		cred, err := k.credential(c, tx)
		if err != nil {
			return err
		}
		k.model.Credentials.Delete(tx, cred.ID)
		return c.Reply(http.StatusNoContent, nil)
	})
}
