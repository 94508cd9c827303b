package api

import (
	"encoding/json"
	"fmt"
	"net/http"

	"github.com/google/uuid"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/slipway-sh/slipway/addons/tacker/request"
	"github.com/slipway-sh/slipway/addons/tacker/vnflcm/callback"
	"github.com/slipway-sh/slipway/addons/tacker/vnflcm/v1alpha1"
	"github.com/slipway-sh/slipway/addons/tacker/vnflcm/worker"
)

// maxSubscriptions is how many a project may have: each one costs a call for each event.
const maxSubscriptions = 100

type subscriptionBody struct {
	Callback       string                   `json:"callbackUri"`
	Verbosity      string                   `json:"verbosity"`
	Filter         *runtime.RawExtension    `json:"filter"`
	Authentication *callback.Authentication `json:"authentication"`
}

func createSubscription(c *call) error {
	body := subscriptionBody{Verbosity: "FULL"}
	if _, err := c.body(request.Subscribe, &body); err != nil {
		return err
	}
	caller := c.s.o.Worker.Caller
	if err := caller.Rules.Check(body.Callback); err != nil {
		return refuse(http.StatusBadRequest, "callbackUri: %v.", err)
	}
	if err := body.Authentication.Check(caller.Rules); err != nil {
		return refuse(http.StatusBadRequest, "authentication: %v.", err)
	}
	var all v1alpha1.VNFSubscriptionList
	if err := c.list(&all); err != nil {
		return err
	}
	if len(all.Items) >= maxSubscriptions {
		return refuse(http.StatusForbidden, "The project has %d subscriptions already.", len(all.Items))
	}
	if !c.s.o.SkipTest {
		if err := caller.Test(c.ctx(), body.Callback, body.Authentication); err != nil {
			return refuse(http.StatusUnprocessableEntity, "callbackUri: the test failed: %v.", err)
		}
	}
	s, err := c.subscribe(body)
	if err != nil {
		return err
	}
	return c.created(c.links.Subscription(s.Name), c.links.ForSubscription(s))
}

// subscribe writes the subscription, then its secrets; until they are there, nothing is
// sent.
func (c *call) subscribe(body subscriptionBody) (*v1alpha1.VNFSubscription, error) {
	if err := c.makeNamespace(); err != nil {
		return nil, err
	}
	s := &v1alpha1.VNFSubscription{ObjectMeta: metav1.ObjectMeta{Namespace: c.namespace(), Name: uuid.NewString()},
		Spec: v1alpha1.VNFSubscriptionSpec{ProjectID: c.token.ProjectID, UserID: c.token.UserID, CallbackURI: body.Callback, Verbosity: body.Verbosity,
			Filter: body.Filter, Authenticated: body.Authentication != nil}}
	c.object = "subscription " + s.Name
	if err := c.s.o.Worker.Client.Create(c.ctx(), s); err != nil {
		return nil, fmt.Errorf("creating subscription: %w", err)
	}
	if body.Authentication == nil {
		return s, nil
	}
	text, err := json.Marshal(body.Authentication)
	if err != nil {
		return nil, fmt.Errorf("keeping the secrets of the subscription: %w", err)
	}
	secret := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: s.Namespace, Name: s.Name,
		OwnerReferences: []metav1.OwnerReference{{APIVersion: v1alpha1.GroupVersion().String(), Kind: "VNFSubscription", Name: s.Name, UID: s.UID}}},
		Data: map[string][]byte{worker.AuthenticationKey: text}}
	if err := c.s.o.Worker.Client.Create(c.ctx(), secret); err != nil {
		_ = c.s.o.Worker.Client.Delete(c.ctx(), s) // without it nothing is ever sent
		return nil, fmt.Errorf("keeping the secrets of the subscription: %w", err)
	}
	return s, nil
}

func deleteSubscription(c *call) error {
	s, err := c.subscription()
	if err != nil {
		return err
	}
	if err := c.s.o.Worker.Client.Delete(c.ctx(), s); err != nil {
		return fmt.Errorf("deleting subscription: %w", err)
	}
	return c.empty(http.StatusNoContent, "")
}
