package main

import (
	"bytes"
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"strings"

	authentication "k8s.io/api/authentication/v1"
	"k8s.io/cloud-provider-openstack/pkg/identity/keystone"
	"k8s.io/klog/v2"
)

// prefix begins the names of users and groups: none is one of Kubernetes' own, or
// of another way to log in.
const prefix = "keystone:"

// The versions of token reviews differ in nothing else. The authenticator knows
// the old one only.
const (
	version    = "authentication.k8s.io/v1"
	oldVersion = "authentication.k8s.io/v1beta1"
)

// guard answers token reviews of an API server.
type guard struct {
	// project is the id of the one whose tokens are accepted.
	project string
	// ask has the authenticator answer a review.
	ask func(ctx context.Context, review []byte) ([]byte, error)
}

func (g guard) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	text, err := io.ReadAll(http.MaxBytesReader(w, r.Body, 64<<10))
	var review authentication.TokenReview
	if err == nil {
		err = json.Unmarshal(text, &review)
	}
	if err == nil && (review.Kind != "TokenReview" || review.APIVersion != version && review.APIVersion != oldVersion) {
		err = errors.New("this is no token review")
	}
	if err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	status, err := g.review(r.Context(), review)
	if err != nil {
		// An error is asked again, a refusal is remembered for a while.
		klog.ErrorS(err, "A token was not recognised")
		http.Error(w, err.Error(), http.StatusUnauthorized)
		return
	}
	review.Status, review.Spec = status, authentication.TokenReviewSpec{}
	w.Header().Set("Content-Type", "application/json")
	_ = json.NewEncoder(w).Encode(review)
}

// review has the authenticator look at the token, and judges what it says.
func (g guard) review(ctx context.Context, review authentication.TokenReview) (authentication.TokenReviewStatus, error) {
	if review.Spec.Token == "" || isOfAnother(review.Spec.Token) {
		return authentication.TokenReviewStatus{Error: "this is no token of Keystone"}, nil
	}
	asked := authentication.TokenReview{TypeMeta: review.TypeMeta, Spec: authentication.TokenReviewSpec{Token: review.Spec.Token}}
	asked.APIVersion = oldVersion
	text, err := json.Marshal(asked)
	if err != nil {
		return authentication.TokenReviewStatus{}, err
	}
	answer, err := g.ask(ctx, text)
	if err != nil {
		return authentication.TokenReviewStatus{}, err
	}
	var told authentication.TokenReview
	if err := json.NewDecoder(bytes.NewReader(answer)).Decode(&told); err != nil {
		return authentication.TokenReviewStatus{}, err
	}
	return g.judge(told.Status)
}

// isOfAnother tells a token that names its issuer, as those of service accounts do
// and Keystone's do not: Keystone need not see one that has expired, for example.
func isOfAnother(token string) bool {
	parts := strings.Split(token, ".")
	if len(parts) != 3 {
		return false
	}
	text, err := base64.RawURLEncoding.DecodeString(parts[1])
	var claims struct {
		Issuer string `json:"iss"`
	}
	return err == nil && json.Unmarshal(text, &claims) == nil && claims.Issuer != ""
}

// judge accepts users of the project, as members of a group for each role that
// they have there. Whoever gave them the role answers for them; groups of
// Keystone are named by whoever has a domain, so they do not count.
func (g guard) judge(told authentication.TokenReviewStatus) (authentication.TokenReviewStatus, error) {
	one := func(key string) string {
		if values := told.User.Extra[key]; len(values) == 1 {
			return values[0]
		}
		return ""
	}
	domain := one(keystone.DomainID)
	switch {
	case !told.Authenticated:
		return authentication.TokenReviewStatus{}, errors.New("Keystone does not know the token, or does not answer")
	case one(keystone.ProjectID) != g.project:
		return authentication.TokenReviewStatus{Error: "the token is of another project"}, nil
	case told.User.Username == "" || told.User.UID == "" || domain == "":
		return authentication.TokenReviewStatus{}, errors.New("Keystone does not say whose token it is")
	}
	// A name is one in its domain only; an id of a domain has no @.
	user := authentication.UserInfo{Username: prefix + told.User.Username + "@" + domain, UID: told.User.UID, Extra: told.User.Extra}
	for _, role := range told.User.Extra[keystone.Roles] {
		user.Groups = append(user.Groups, prefix+role)
	}
	return authentication.TokenReviewStatus{Authenticated: true, User: user}, nil
}
