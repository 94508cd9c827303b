package identity

import (
	"encoding/json"
	"net/http"

	"github.com/slipway-sh/slipway/internal/sandbox/api"
	"github.com/slipway-sh/slipway/internal/sandbox/model"
	"github.com/slipway-sh/slipway/internal/sandbox/store"
)

// ec2Pair is the content of the blob of an EC2 credential.
type ec2Pair struct {
	Access string `json:"access"`
	Secret string `json:"secret"`
}

type ec2View struct {
	UserID   string  `json:"user_id"`
	TenantID string  `json:"tenant_id"`
	Access   string  `json:"access"`
	Secret   string  `json:"secret"`
	TrustID  *string `json:"trust_id"`
	Links    self    `json:"links"`
}

func (k *Keystone) ec2Routes() []api.Route {
	const path = " /v3/users/{user}/credentials/OS-EC2"
	return []api.Route{
		{Pattern: "GET" + path, Role: api.Token, Handle: k.listEC2},
		{Pattern: "POST" + path, Role: api.Token, Handle: k.createEC2},
		{Pattern: "GET" + path + "/{access}", Role: api.Token, Handle: k.showEC2},
		{Pattern: "DELETE" + path + "/{access}", Role: api.Token, Handle: k.deleteEC2},
		{Pattern: "POST /v3/ec2tokens", Role: api.Token, Handle: k.ec2Token},
		{Pattern: "POST /v3/s3tokens", Role: api.Token, Handle: k.s3Token},
	}
}

func (k *Keystone) newEC2View(c *api.Call, cred model.Credential) (ec2View, error) {
	pair, err := k.pair(cred)
	return ec2View{UserID: cred.UserID, TenantID: cred.ProjectID, Access: pair.Access, Secret: pair.Secret,
		Links: link(c, "/users/"+cred.UserID+"/credentials/OS-EC2/"+pair.Access)}, err
}

func (k *Keystone) pair(cred model.Credential) (pair ec2Pair, err error) {
	blob, err := k.secrets.open(cred.Blob)
	if err == nil {
		err = json.Unmarshal(blob, &pair)
	}
	return pair, err
}

func (k *Keystone) listEC2(c *api.Call) error {
	if err := requireSelf(c, c.Path("user")); err != nil {
		return err
	}
	return c.View(func(r store.Reader) error {
		views := []ec2View{}
		for cred := range k.model.CredentialsOf.Each(r, c.Path("user")) {
			if cred.Type != "ec2" {
				continue
			}
			view, err := k.newEC2View(c, cred)
			if err != nil {
				return err
			}
			views = append(views, view)
		}
		return c.Reply(http.StatusOK, map[string]any{"credentials": views,
			"links": map[string]any{"self": c.Base() + c.Request.URL.Path, "previous": nil, "next": nil}})
	})
}

// createEC2 creates a key pair on a project in which the user has a role.
func (k *Keystone) createEC2(c *api.Call) error {
	var in struct {
		TenantID string `json:"tenant_id"`
	}
	if err := c.Decode(&in); err != nil {
		return err
	}
	user := c.Path("user")
	if err := requireSelf(c, user); err != nil {
		return err
	}
	if err := requireUnrestricted(c); err != nil {
		return err
	}
	return c.Update(func(tx *store.Tx) error {
		if _, err := find(tx, k.model.Users, "user", user); err != nil {
			return err
		}
		if _, err := find(tx, k.model.Projects, "project", in.TenantID); err != nil {
			return err
		}
		pair := ec2Pair{Access: model.NewKeyID(), Secret: model.NewKeyID()}
		blob, err := json.Marshal(pair)
		if err != nil {
			return err
		}
		cred := model.Credential{ID: ec2ID(pair.Access), UserID: user, ProjectID: in.TenantID, Type: "ec2",
			Blob: k.secrets.seal(blob), Access: pair.Access}
		k.model.Credentials.Put(tx, cred)
		view, err := k.newEC2View(c, cred)
		if err != nil {
			return err
		}
		return c.Reply(http.StatusCreated, map[string]any{"credential": view})
	})
}

func (k *Keystone) ec2Credential(c *api.Call, r store.Reader) (model.Credential, error) {
	cred, err := find(r, k.model.Credentials, "credential", ec2ID(c.Path("access")))
	if err == nil {
		err = requireSelf(c, c.Path("user"))
	}
	if err == nil {
		err = requireSelf(c, cred.UserID)
	}
	return cred, err
}

func (k *Keystone) showEC2(c *api.Call) error {
	return c.View(func(r store.Reader) error {
		cred, err := k.ec2Credential(c, r)
		if err != nil {
			return err
		}
		view, err := k.newEC2View(c, cred)
		if err != nil {
			return err
		}
		return c.Reply(http.StatusOK, map[string]any{"credential": view})
	})
}

func (k *Keystone) deleteEC2(c *api.Call) error {
	return c.Update(func(tx *store.Tx) error {
		cred, err := k.ec2Credential(c, tx)
		if err != nil {
			return err
		}
		k.model.Credentials.Delete(tx, cred.ID)
		return c.Reply(http.StatusNoContent, nil)
	})
}
