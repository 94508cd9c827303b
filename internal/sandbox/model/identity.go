package model

import (
	"time"
)

// Project is a project, or a domain when IsDomain is set.
type Project struct {
	ID          string         `json:"id"`
	Name        string         `json:"name"`
	Description string         `json:"description"`
	DomainID    string         `json:"domain_id"`
	ParentID    string         `json:"parent_id"`
	Enabled     bool           `json:"enabled"`
	IsDomain    bool           `json:"is_domain"`
	Tags        []string       `json:"tags"`
	Options     map[string]any `json:"options"`
	Extra       map[string]any `json:"extra,omitempty"`
}

// User is a user. Hash is of the password; empty means that none was set.
type User struct {
	ID               string         `json:"id"`
	Name             string         `json:"name"`
	Description      string         `json:"description,omitempty"`
	Email            string         `json:"email,omitempty"`
	DomainID         string         `json:"domain_id"`
	DefaultProjectID string         `json:"default_project_id,omitempty"`
	Enabled          bool           `json:"enabled"`
	Hash             string         `json:"hash,omitempty"`
	PasswordExpires  *time.Time     `json:"password_expires_at"`
	Options          map[string]any `json:"options"`
	Extra            map[string]any `json:"extra,omitempty"`
	// ValidAfter makes tokens issued before it invalid.
	ValidAfter time.Time `json:"valid_after"`
}

// Group is a group of users.
type Group struct {
	ID          string         `json:"id"`
	Name        string         `json:"name"`
	Description string         `json:"description"`
	DomainID    string         `json:"domain_id"`
	Members     []string       `json:"members,omitempty"`
	Extra       map[string]any `json:"extra,omitempty"`
}

// Role is a role; a role of a domain has DomainID.
type Role struct {
	ID          string         `json:"id"`
	Name        string         `json:"name"`
	Description string         `json:"description,omitempty"`
	DomainID    string         `json:"domain_id,omitempty"`
	Options     map[string]any `json:"options"`
	Extra       map[string]any `json:"extra,omitempty"`
	// Implies are the ids of the roles that come with this one.
	Implies []string `json:"implies,omitempty"`
}

// Assignment gives a role to a user or a group on a project, a domain or the
// system: one of UserID and GroupID is set, and one of ProjectID, DomainID and
// System.
type Assignment struct {
	RoleID    string `json:"role_id"`
	UserID    string `json:"user_id,omitempty"`
	GroupID   string `json:"group_id,omitempty"`
	ProjectID string `json:"project_id,omitempty"`
	DomainID  string `json:"domain_id,omitempty"`
	System    bool   `json:"system,omitempty"`
	// Inherited gives the role on the projects below instead.
	Inherited bool `json:"inherited,omitempty"`
}

// Actor is the id of the user or group.
func (a Assignment) Actor() string { return a.UserID + a.GroupID }

// Key identifies an assignment: there is one of each at most.
func (a Assignment) Key() string {
	key := "role " + a.RoleID + " actor " + a.Actor() + " on " + a.Target()
	if a.Inherited {
		key += " inherited"
	}
	return key
}

// Target is the id of the project or domain, or "system".
func (a Assignment) Target() string {
	if a.System {
		return "system"
	}
	return a.ProjectID + a.DomainID
}

// Token is an issued token. ID is the hash of what the client holds.
type Token struct {
	ID         string    `json:"id"`
	AuditIDs   []string  `json:"audit_ids"`
	Methods    []string  `json:"methods"`
	UserID     string    `json:"user_id"`
	ProjectID  string    `json:"project_id,omitempty"`
	DomainID   string    `json:"domain_id,omitempty"`
	System     bool      `json:"system,omitempty"`
	TrustID    string    `json:"trust_id,omitempty"`
	AppCredID  string    `json:"application_credential_id,omitempty"`
	AccessKey  string    `json:"ec2_access,omitempty"`
	IssuedAt   time.Time `json:"issued_at"`
	ExpiresAt  time.Time `json:"expires_at"`
	Generation string    `json:"generation,omitempty"`
}

// AccessRule lets an application credential call one operation.
type AccessRule struct {
	ID      string `json:"id"`
	UserID  string `json:"user_id,omitempty"`
	Service string `json:"service"`
	Method  string `json:"method"`
	Path    string `json:"path"`
}

// ApplicationCredential lets a program act for a user on one project.
// AccessRules nil allows every call, an empty list none.
type ApplicationCredential struct {
	ID           string     `json:"id"`
	Name         string     `json:"name"`
	Description  string     `json:"description"`
	UserID       string     `json:"user_id"`
	ProjectID    string     `json:"project_id"`
	RoleIDs      []string   `json:"role_ids"`
	Hash         string     `json:"hash"`
	Unrestricted bool       `json:"unrestricted"`
	ExpiresAt    *time.Time `json:"expires_at"`
	AccessRules  *[]string  `json:"access_rules,omitempty"`
}

// Service is an entry of the catalog.
type Service struct {
	ID          string         `json:"id"`
	Name        string         `json:"name"`
	Type        string         `json:"type"`
	Description string         `json:"description,omitempty"`
	Enabled     bool           `json:"enabled"`
	Extra       map[string]any `json:"extra,omitempty"`
}

// Endpoint is an address of a service. URL is a template: see identity.
type Endpoint struct {
	ID          string `json:"id"`
	Name        string `json:"name,omitempty"`
	Description string `json:"description,omitempty"`
	ServiceID   string `json:"service_id"`
	RegionID    string `json:"region_id"`
	Interface   string `json:"interface"`
	URL         string `json:"url"`
	Enabled     bool   `json:"enabled"`
}

// Region is a region of the cloud.
type Region struct {
	ID          string         `json:"id"`
	Description string         `json:"description"`
	ParentID    string         `json:"parent_region_id,omitempty"`
	Extra       map[string]any `json:"extra,omitempty"`
}

// Trust lets the trustee act for the trustor on a project.
type Trust struct {
	ID            string     `json:"id"`
	TrustorUserID string     `json:"trustor_user_id"`
	TrusteeUserID string     `json:"trustee_user_id"`
	ProjectID     string     `json:"project_id"`
	Impersonation bool       `json:"impersonation"`
	RoleIDs       []string   `json:"role_ids"`
	ExpiresAt     *time.Time `json:"expires_at"`
	// RemainingUses counts down; nil is without limit.
	RemainingUses     *int   `json:"remaining_uses"`
	RedelegationCount int    `json:"redelegation_count"`
	AllowRedelegation bool   `json:"allow_redelegation"`
	RedelegatedFrom   string `json:"redelegated_trust_id,omitempty"`
}

// Credential is a secret that Keystone keeps for a user, such as an EC2 key
// pair. Blob is encrypted.
type Credential struct {
	ID        string `json:"id"`
	UserID    string `json:"user_id"`
	ProjectID string `json:"project_id"`
	Type      string `json:"type"`
	Blob      []byte `json:"blob"`
	// Access is the access key of an EC2 credential.
	Access  string `json:"access,omitempty"`
	TrustID string `json:"trust_id,omitempty"`
}
