package inside

import (
	"context"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"

	"github.com/slipway-sh/slipway/internal/cause"
	"github.com/slipway-sh/slipway/internal/kube/kubetest"
)

// turn is what is asked at the same time, after what is asked first.
type turn struct {
	wanted int
	first  func(*http.Request) bool
	ask    func(ctx context.Context, a *asked) error
	// answer is empty for a refusal.
	answer func(r *http.Request) string
	says   string
	fails  bool
}

func ends(text string) func(*http.Request) bool {
	return func(r *http.Request) bool { return strings.HasSuffix(r.URL.Path, text) }
}

// listOf is a list of a kind; the empty one is of whatever is asked for.
func listOf(kind string, items ...string) string {
	return `{"kind": "` + kind + `", "metadata": {}, "items": [` + strings.Join(items, ", ") + `]}`
}

// namespaceIn is the namespace that is asked for.
func namespaceIn(r *http.Request) string {
	return strings.Split(strings.SplitAfter(r.URL.Path, "/namespaces/")[1], "/")[0]
}

// webhooks answers for two configurations with three services, of which a refuses.
func webhooks(r *http.Request) string {
	hook := func(service string) string {
		return `{"name": "` + service + `.example.org", "clientConfig": {"service": {"namespace": "` + service + `", "name": "hook"}}}`
	}
	switch {
	case ends("/validatingwebhookconfigurations")(r):
		return listOf("ValidatingWebhookConfigurationList", `{"metadata": {"name": "v"}, "webhooks": [`+hook("c")+", "+hook("a")+`]}`)
	case ends("/mutatingwebhookconfigurations")(r):
		return listOf("MutatingWebhookConfigurationList", `{"metadata": {"name": "m"}, "webhooks": [`+hook("b")+", "+hook("c")+`]}`)
	case namespaceIn(r) == "a":
		return ""
	}
	return listOf("EndpointSliceList", `{"metadata": {"name": "e"}, "addressType": "IPv4", "endpoints": [{"addresses": ["192.0.2.1"]}]}`)
}

// waiting answers with a pod that waits in each namespace but kube-c, which refuses.
func waiting(r *http.Request) string {
	switch {
	case ends("/api/v1/namespaces")(r):
		return listOf("NamespaceList", `{"metadata": {"name": "kube-b"}}`, `{"metadata": {"name": "shop"}}`, `{"metadata": {"name": "kube-c"}}`, `{"metadata": {"name": "kube-a"}}`)
	case namespaceIn(r) == "kube-c":
		return ""
	}
	return listOf("PodList", `{"metadata": {"name": "p", "namespace": "`+namespaceIn(r)+`"}, "status": {"phase": "Pending"}}`)
}

// logs answers with the last lines of each pod but y.
func logs(r *http.Request) string {
	if strings.Contains(r.URL.Path, "/pods/y/") {
		return ""
	}
	return "words of " + r.URL.Path[len("/api/v1/namespaces/kube-system/pods/"):]
}

// crashes is what three pods that crash say.
func crashes(ctx context.Context, a *asked) error {
	for _, name := range []string{"x", "y", "z"} {
		a.Pods = append(a.Pods, cause.Pod{Namespace: "kube-system", Name: name, Containers: []cause.Container{{Name: "c", Reason: "CrashLoopBackOff"}}})
	}
	a.words(ctx)
	return nil
}

// said is what was found, in one line.
func said(a *asked) string {
	var all []string
	for _, h := range a.Hooks {
		all = append(all, fmt.Sprint(h.Name, " ", h.Ready))
	}
	for _, p := range a.Pods {
		words := p.Namespace + "/" + p.Name
		for _, c := range p.Containers {
			words = strings.TrimSpace(words + " " + c.Words)
		}
		all = append(all, words)
	}
	for _, l := range a.Leaders {
		all = append(all, l.Name)
	}
	return strings.Join(all, ", ")
}

// TestQuestionsOfOneKindAreAskedSideBySide: what several namespaces, services or containers are
// asked for takes one turn, and what they say stays in their order, without those that fail.
func TestQuestionsOfOneKindAreAskedSideBySide(t *testing.T) {
	t.Parallel()
	hooks := func(ctx context.Context, a *asked) error { return a.hooks(ctx) }
	for name, test := range map[string]turn{
		"webhooks":             {2, nil, hooks, func(*http.Request) string { return listOf("") }, "", false},
		"services of webhooks": {3, ends("webhookconfigurations"), hooks, webhooks, "c.example.org 1, b.example.org 1, c.example.org 1", true},
		"pods":                 {3, ends("/api/v1/namespaces"), func(ctx context.Context, a *asked) error { return a.sick(ctx) }, waiting, "kube-b/p, kube-a/p", true},
		"leases": {2, nil, func(ctx context.Context, a *asked) error { return a.leases(ctx) }, func(*http.Request) string {
			return listOf("LeaseList", `{"metadata": {"name": "kube-scheduler"}, "spec": {"renewTime": "2026-01-02T09:00:00.000000Z"}}`)
		}, "kube-scheduler", false},
		"last words": {3, nil, crashes, logs, "kube-system/x words of x/log, kube-system/y, kube-system/z words of z/log", false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			m := &kubetest.Meeting{Wanted: test.wanted, First: test.first, Answer: func(r *http.Request) (int, string) {
				if text := test.answer(r); text != "" {
					return http.StatusOK, text
				}
				return http.StatusForbidden, `{"kind": "Status", "apiVersion": "v1", "status": "Failure", "reason": "Forbidden", "code": 403}`
			}}
			client, err := kubernetes.NewForConfig(&rest.Config{Host: "https://meeting", Transport: m, QPS: -1})
			check(t, err)
			ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
			defer cancel()
			a := &asked{client: client}
			if err := test.ask(ctx, a); (err != nil) != test.fails || ctx.Err() != nil {
				t.Errorf("%v, %v", err, context.Cause(ctx))
			}
			if got := said(a); got != test.says {
				t.Errorf("said %s, want %s", got, test.says)
			}
		})
	}
}
