package callback

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"slices"

	"golang.org/x/oauth2"
	"golang.org/x/oauth2/clientcredentials"
)

// Version is that of SOL003 which callbacks speak.
const Version = "2.0.0"

// Authentication is SOL003's SubscriptionAuthentication: the secret part of a subscription.
type Authentication struct {
	Types []string `json:"authType"`
	Basic *struct {
		User     string `json:"userName"`
		Password string `json:"password"`
	} `json:"paramsBasic,omitempty"`
	OAuth2 *struct {
		ID       string `json:"clientId"`
		Password string `json:"clientPassword"`
		Endpoint string `json:"tokenEndpoint"`
	} `json:"paramsOauth2ClientCredentials,omitempty"`
}

// The ways to authenticate.
const (
	basicAuth  = "BASIC"
	oauth2Auth = "OAUTH2_CLIENT_CREDENTIALS"
)

// Check says what is wrong with it.
func (a *Authentication) Check(r Rules) error {
	if a == nil {
		return nil
	}
	if len(a.Types) == 0 {
		return errors.New("authType is missing")
	}
	for _, kind := range a.Types {
		if kind != basicAuth && kind != oauth2Auth {
			return fmt.Errorf("authType %s is not supported; %s and %s are", kind, basicAuth, oauth2Auth)
		}
	}
	if slices.Contains(a.Types, basicAuth) && (a.Basic == nil || a.Basic.User == "" || a.Basic.Password == "") {
		return errors.New("paramsBasic needs userName and password")
	}
	if slices.Contains(a.Types, oauth2Auth) {
		if a.OAuth2 == nil || a.OAuth2.ID == "" || a.OAuth2.Password == "" || a.OAuth2.Endpoint == "" {
			return errors.New("paramsOauth2ClientCredentials needs clientId, clientPassword and tokenEndpoint")
		}
		if err := r.Check(a.OAuth2.Endpoint); err != nil {
			return fmt.Errorf("tokenEndpoint: %w", err)
		}
	}
	return nil
}

// Caller calls callbacks.
type Caller struct {
	Rules Rules
	// Plain is Rules.Client.
	Plain *http.Client
}

// NewCaller returns a caller by rules.
func NewCaller(r Rules) *Caller { return &Caller{r, r.Client()} }

// Test asks a callback whether it is one: it has to answer 204.
func (c *Caller) Test(ctx context.Context, address string, a *Authentication) error {
	return c.call(ctx, http.MethodGet, address, a, nil)
}

// Send sends a notification.
func (c *Caller) Send(ctx context.Context, address string, a *Authentication, notification any) error {
	text, err := json.Marshal(notification)
	if err != nil {
		return fmt.Errorf("writing notification: %w", err)
	}
	return c.call(ctx, http.MethodPost, address, a, text)
}

func (c *Caller) call(ctx context.Context, method, address string, a *Authentication, body []byte) error {
	if err := c.Rules.Check(address); err != nil {
		return err
	}
	r, err := http.NewRequestWithContext(ctx, method, address, bytes.NewReader(body))
	if err != nil {
		return errors.New("the address cannot be used")
	}
	r.Header.Set("Version", Version)
	r.Header.Set("Accept", "application/json")
	if body != nil {
		r.Header.Set("Content-Type", "application/json")
	}
	client := c.Plain
	if a != nil && slices.Contains(a.Types, oauth2Auth) {
		client = c.withToken(ctx, a)
	} else if a != nil && slices.Contains(a.Types, basicAuth) {
		r.SetBasicAuth(a.Basic.User, a.Basic.Password)
	}
	answer, err := client.Do(r)
	if err != nil {
		return unspoken(err)
	}
	answer.Body.Close()
	if answer.StatusCode != http.StatusNoContent {
		return fmt.Errorf("it answered %d, not 204", answer.StatusCode)
	}
	return nil
}

// withToken is a client that logs in first (RFC 6749, 4.4).
func (c *Caller) withToken(ctx context.Context, a *Authentication) *http.Client {
	config := clientcredentials.Config{ClientID: a.OAuth2.ID, ClientSecret: a.OAuth2.Password, TokenURL: a.OAuth2.Endpoint, AuthStyle: oauth2.AuthStyleInHeader}
	client := config.Client(context.WithValue(ctx, oauth2.HTTPClient, c.Plain))
	client.Timeout, client.CheckRedirect = callTime, c.Plain.CheckRedirect
	return client
}

// unspoken keeps the answer of a token server to itself: it may have a secret in it.
func unspoken(err error) error {
	var refused *oauth2.RetrieveError
	if errors.As(err, &refused) {
		return fmt.Errorf("the token server answered %d", refused.Response.StatusCode)
	}
	return fmt.Errorf("calling it: %w", err)
}
