// Package check tries a cluster as its users do: pods on every node, names, Services, the
// way out, volumes and load balancers. Everything it makes is in one namespace, which it
// deletes in the end, also after a failure or an interrupt.
package check

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"net"
	"net/url"
	"slices"
	"strings"
	"sync"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"

	"github.com/slipway-sh/slipway/internal/check/inside"
)

// The states of a step.
const (
	Passed  = "passed"
	Failed  = "failed"
	Skipped = "skipped"
)

// The steps of checks, in their order.
const (
	StepNodes    = "nodes"
	StepPods     = "pods"
	StepNames    = "dns"
	StepPodToPod = "pod-to-pod"
	StepPackets  = "large-packets"
	StepService  = "service"
	StepEgress   = "egress"
	StepPolicies = "policies"
	StepVolume   = "volume"
	StepSnapshot = "snapshot"
	StepBalancer = "load-balancer"
	StepSuite    = "suite"
	StepTests    = "tests"
	StepCleanup  = "cleanup"
)

// Steps returns the steps of a check by its name; nil for an unknown one.
func Steps(name string) []string {
	return map[string][]string{
		"quick":     {StepNodes, StepPods, StepNames, StepPodToPod, StepPackets, StepService, StepEgress, StepPolicies, StepVolume, StepBalancer},
		"storage":   {StepNodes, StepVolume, StepSnapshot},
		"network":   {StepNodes, StepPods, StepNames, StepPodToPod, StepPackets, StepService, StepEgress, StepPolicies, StepBalancer},
		Conformance: {StepNodes, StepSuite, StepTests},
	}[name]
}

// Step is one step with its result.
type Step struct {
	Name    string  `json:"name"`
	State   string  `json:"state"`
	Seconds float64 `json:"seconds"`
	// Detail is what was seen or, of a step that did not pass, why.
	Detail string `json:"detail,omitempty"`
}

// Result is the result of a check.
type Result struct {
	Check   string    `json:"check"`
	Cluster string    `json:"cluster"`
	Passed  bool      `json:"passed"`
	Begun   time.Time `json:"begun"`
	Seconds float64   `json:"seconds"`
	Steps   []Step    `json:"steps"`
	// Tests are the results of Kubernetes' own tests; nil if there are none.
	Tests *Tests `json:"tests,omitempty"`
}

// Options are what a check needs to know.
type Options struct {
	// Name is that of the check, Cluster the cluster's, for the result.
	Name, Cluster string
	Client        kubernetes.Interface
	// Ask asks a pod's server; nil asks through the API server.
	Ask func(ctx context.Context, namespace, pod, path string, values url.Values) (string, error)
	// Dial connects to the load balancer as users would; nil is this machine's network.
	Dial func(ctx context.Context, network, address string) (net.Conn, error)
	// Image is Slipway's, which nodes have.
	Image string
	// Egress is a host and port outside of the cluster; empty skips the step.
	Egress string
	// StorageClass is that of the volume; empty is the default one of the cluster.
	StorageClass string
	// Skip are steps that are not made.
	Skip []string
	// Patience is how long one step may take.
	Patience time.Duration
	// Suite is for the check Conformance alone.
	Suite Suite
	// Tell receives when a step begins, with "" as its state, how far it is, with a detail
	// too, and when it ends.
	Tell func(Step)
}

// errSkip is the reason not to make a step.
type errSkip string

func (e errSkip) Error() string { return string(e) }

type run struct {
	Options
	namespace, token string

	mu    sync.Mutex
	pods  []pod // of the DaemonSet, when they are ready
	tests *Tests
	// written is what the volume has, once it was read back.
	written string
}

// Run makes a check. The error is about the check itself; what the cluster lacks is in the
// result.
func Run(ctx context.Context, o Options) (Result, error) {
	r := &run{Options: o, token: rand.Text()}
	if r.Ask == nil {
		r.Ask = r.throughAPI
	}
	if r.Dial == nil {
		r.Dial = (&net.Dialer{}).DialContext
	}
	result := Result{Check: o.Name, Cluster: o.Cluster, Begun: time.Now().UTC(), Steps: []Step{}}
	steps := Steps(o.Name)
	for _, name := range o.Skip {
		if name != StepSnapshot && !slices.Contains(Steps("quick"), name) {
			return result, fmt.Errorf("there is no step %s", name)
		}
	}
	if o.Name == Conformance {
		if err := r.alone(ctx); err != nil {
			return result, err
		}
	}
	if err := r.begin(ctx); err != nil {
		return result, err
	}
	result.Steps = r.steps(ctx, steps)
	over := context.Cause(ctx)
	cleaned := r.timed(context.WithoutCancel(ctx), StepCleanup, r.clean)
	result.Steps, result.Tests = append(result.Steps, cleaned), r.tests
	result.Seconds = time.Since(result.Begun).Seconds()
	result.Passed = over == nil && !slices.ContainsFunc(result.Steps, func(s Step) bool { return s.State == Failed })
	return result, over
}

// steps makes the steps: first those that all others need, then the slow ones beside the
// rest. The results are in the order of the names.
func (r *run) steps(ctx context.Context, names []string) []Step {
	do := map[string]func(context.Context) (string, error){StepNodes: r.nodes, StepPods: r.startPods, StepNames: r.names, StepPodToPod: r.podToPod, StepPackets: r.packets, StepService: r.service,
		StepEgress: r.egress, StepPolicies: r.policies, StepVolume: r.volume, StepSnapshot: r.snapshot, StepBalancer: r.balancer, StepSuite: r.startSuite, StepTests: r.waitForSuite}
	results := map[string]Step{}
	var mu sync.Mutex
	one := func(name string) {
		step := r.timed(ctx, name, do[name])
		mu.Lock()
		defer mu.Unlock()
		results[name] = step
	}
	one(StepNodes)
	if slices.Contains(names, StepSuite) {
		one(StepSuite)
		if results[StepSuite].State == Passed {
			one(StepTests)
		} else {
			results[StepTests] = Step{Name: StepTests, State: Skipped, Detail: "they did not start"}
		}
	}
	var group sync.WaitGroup
	if slices.Contains(names, StepVolume) {
		group.Go(func() {
			one(StepVolume)
			if slices.Contains(names, StepSnapshot) {
				one(StepSnapshot)
			}
		})
	}
	if slices.Contains(names, StepPods) {
		group.Go(func() {
			one(StepPods)
			var inner sync.WaitGroup
			for _, name := range []string{StepNames, StepPodToPod, StepPackets, StepService, StepEgress, StepPolicies, StepBalancer} {
				if slices.Contains(names, name) {
					inner.Go(func() { one(name) })
				}
			}
			inner.Wait()
		})
	}
	group.Wait()
	var list []Step
	for _, name := range names {
		list = append(list, results[name])
	}
	return list
}

// timed makes one step within its time.
func (r *run) timed(ctx context.Context, name string, do func(context.Context) (string, error)) Step {
	step := Step{Name: name}
	if slices.Contains(r.Skip, name) {
		step.State, step.Detail = Skipped, "by --skip"
		r.Tell(step)
		return step
	}
	r.Tell(step)
	begun := time.Now()
	patience := r.Patience
	if name == StepTests {
		patience = r.Suite.Patience
	}
	within, cancel := context.WithTimeoutCause(ctx, patience, fmt.Errorf("not done after %s", patience))
	defer cancel()
	detail, err := do(within)
	step.Seconds, step.State, step.Detail = time.Since(begun).Seconds(), Passed, detail
	var skip errSkip
	switch {
	case errors.As(err, &skip):
		step.State, step.Detail = Skipped, skip.Error()
	case err != nil:
		step.State, step.Detail = Failed, strings.TrimSpace(err.Error())
	}
	r.Tell(step)
	return step
}

// throughAPI asks a pod through the API server, which reaches all pods.
func (r *run) throughAPI(ctx context.Context, namespace, pod, path string, values url.Values) (string, error) {
	request := r.Client.CoreV1().RESTClient().Get().Namespace(namespace).Resource("pods").Name(fmt.Sprintf("%s:%d", pod, inside.Port)).SubResource("proxy").Suffix(path)
	for key, list := range values {
		request = request.Param(key, list[0])
	}
	text, err := request.Do(ctx).Raw()
	var status apierrors.APIStatus
	if errors.As(err, &status) && status.Status().Details != nil {
		for _, c := range status.Status().Details.Causes {
			if c.Type == metav1.CauseTypeUnexpectedServerResponse {
				return "", errors.New(strings.TrimSpace(c.Message)) // what the pod said
			}
		}
	}
	return string(text), err
}
