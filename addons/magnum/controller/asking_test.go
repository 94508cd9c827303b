package controller

import (
	"context"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	"github.com/slipway-sh/slipway/addons/magnum/observe"
	"github.com/slipway-sh/slipway/addons/magnum/v1alpha1"
	"github.com/slipway-sh/slipway/internal/cause"
)

// look is a pass that has read the cluster and done nothing yet.
func (h *harness) look() *pass {
	h.t.Helper()
	p := &pass{reconciler: h.r, key: client.ObjectKey{Namespace: namespace, Name: stack}, cluster: h.cluster(), now: h.clock}
	p.stored = p.cluster.Status.DeepCopy()
	err := p.readGroups(h.t.Context())
	if err == nil {
		err = p.observe(h.t.Context(), p.client, p.indexed())
	}
	if err != nil {
		h.t.Fatal(err)
	}
	return p
}

// TestWhoseCloudIsAsked: of clusters that are not as they should be, and of one that is deleted as long
// as it has something there; of that, only that the credential is refused matters.
func TestWhoseCloudIsAsked(t *testing.T) {
	t.Parallel()
	well := observe.State{Healthy: true}
	for name, test := range map[string]struct {
		phase           v1alpha1.Phase
		deleting, infra bool
		state           *observe.State
		refused         bool
		asked, tells    bool
	}{
		"well":                        {v1alpha1.CreateComplete, false, true, &well, false, false, false},
		"not looked at yet":           {v1alpha1.CreateComplete, false, true, nil, false, true, true},
		"in progress":                 {v1alpha1.UpdateInProgress, false, true, &well, false, true, true},
		"unhealthy":                   {v1alpha1.CreateComplete, false, true, &observe.State{}, false, true, true},
		"with a cause":                {v1alpha1.CreateComplete, false, true, &observe.State{Healthy: true, Causes: []observe.Cause{{}}}, false, true, true},
		"without infrastructure yet":  {v1alpha1.CreateInProgress, false, false, &well, false, true, true},
		"going":                       {v1alpha1.DeleteInProgress, true, true, &well, false, true, false},
		"going, refused":              {v1alpha1.DeleteInProgress, true, true, &well, true, true, true},
		"going, complete before":      {v1alpha1.CreateComplete, true, true, &well, true, true, true},
		"going, nothing is left":      {v1alpha1.DeleteInProgress, true, false, &well, true, false, false},
		"going, not looked at before": {v1alpha1.DeleteInProgress, true, true, nil, true, true, true},
	} {
		h := start(t)
		p, clouds := h.look(), &fakeClouds{said: &cause.Cloud{}}
		if h.r.Clouds = clouds; test.refused {
			clouds.said.Refused = &cause.Refusal{Words: "no"}
		}
		p.cluster.Status.Phase, p.state = test.phase, test.state
		if test.deleting {
			p.cluster.DeletionTimestamp = &metav1.Time{Time: h.clock}
		}
		if test.infra {
			p.objects.Infrastructure = &unstructured.Unstructured{}
		}
		if said := p.ask(t.Context()); (clouds.asked > 0) != test.asked || (said != nil) != test.tells {
			t.Errorf("%s: asked %d times, %+v", name, clouds.asked, said)
		}
		if h.r.Clouds = nil; p.ask(t.Context()) != nil {
			t.Errorf("%s: without anybody to ask there is an answer", name)
		}
	}
}

// TestASecretWithoutCloudsYAML is a lost credential; one that cannot be read is not.
func TestASecretWithoutCloudsYAML(t *testing.T) {
	t.Parallel()
	h := start(t)
	h.r.Clouds = &fakeClouds{}
	empty := secret("")
	empty.Data = nil
	h.update(empty)
	if said := h.look().ask(t.Context()); said == nil || said.Refused == nil || !said.Refused.Absent || !strings.Contains(said.Refused.Words, stack+"-cloud-credentials has no clouds.yaml") {
		t.Errorf("%+v", said)
	}
	p := h.look()
	h.intercept(interceptor.Funcs{Get: func(context.Context, client.WithWatch, client.ObjectKey, client.Object, ...client.GetOption) error {
		return errIll
	}})
	if said := p.ask(t.Context()); said != nil {
		t.Errorf("a Secret that cannot be read: %+v", said)
	}
	h.r.kept = h.r.client
	if said := p.missingSecret(t.Context()); said != nil || p.again != 0 {
		t.Errorf("a Secret that cannot be read: %+v", said)
	}
}
