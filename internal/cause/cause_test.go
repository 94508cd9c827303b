package cause

import (
	"fmt"
	"runtime"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/util/json"
	"sigs.k8s.io/yaml"
)

var now = time.Date(2026, 1, 2, 10, 0, 0, 0, time.UTC)

// read reads objects by kind.
func read(t testing.TB, documents string) Objects {
	t.Helper()
	all := Objects{}
	for _, document := range strings.Split(documents, "---\n") {
		text, err := yaml.YAMLToJSON([]byte(document))
		if err != nil {
			t.Fatal(err)
		}
		u := &unstructured.Unstructured{}
		if err := json.Unmarshal(text, &u.Object); err != nil { // whole numbers as the API server's
			t.Fatal(err)
		}
		all[u.GetKind()] = append(all[u.GetKind()], u)
	}
	return all
}

const base = `kind: Cluster
metadata: {name: c, namespace: prod}
---
`

// reasons are the findings in short.
func reasons(a Answer) string {
	var all []string
	for _, f := range a.Findings {
		all = append(all, f.Reason+" "+f.Object.String())
	}
	return strings.Join(all, "; ")
}

// worker is a worker whose OpenStackMachine and OpenStackServer have a status.
func worker(name, infra, server string) string {
	return fmt.Sprintf(`kind: Machine
metadata: {name: %[1]s, namespace: prod, creationTimestamp: "2026-01-02T08:00:00Z", labels: {cluster.x-k8s.io/deployment-name: md}}
spec: {infrastructureRef: {name: %[1]s}, bootstrap: {dataSecretName: x}}
---
kind: OpenStackMachine
metadata: {name: %[1]s, namespace: prod, creationTimestamp: "2026-01-02T08:00:00Z", generation: 2}
status: %[2]s
---
kind: OpenStackServer
metadata: {name: %[1]s, namespace: prod, creationTimestamp: "2026-01-02T08:00:00Z"}
status: %[3]s
`, name, infra, server)
}

// addressed is a cluster whose API has a floating IP.
func addressed(since string, ready bool) string {
	return fmt.Sprintf(`kind: Cluster
metadata: {name: c, namespace: prod}
status: {conditions: [{type: InfrastructureReady, status: "True", lastTransitionTime: "2026-01-02T%s"}]}
---
kind: OpenStackCluster
metadata: {name: c, namespace: prod}
status: {ready: %t, apiServerLoadBalancer: {ip: 203.0.113.7}}
`, since, ready)
}

const noAddress = `---
kind: Event
metadata: {name: e, namespace: prod}
type: Warning
reason: FailedCreatePort
message: "No more IP addresses available on network x."
involvedObject: {kind: OpenStackServer, name: w}
lastTimestamp: "2026-01-02T%sZ"
`

// TestConditionsAreJudged: what speaks of another object, of what is over, or against
// the cloud, loses.
func TestConditionsAreJudged(t *testing.T) {
	t.Parallel()
	const refused = `{type: InstanceReady, status: "False", severity: Error, reason: InstanceCreateFailed, message: "Invalid key_name provided.", lastTransitionTime: "2026-01-02T%s"}`
	cores := base + worker("w", "{}", `{conditions: [{type: InstanceReady, status: "False", severity: Error, reason: InstanceCreateFailed, message: "Quota exceeded for cores, ram: Requested 4, 8192, but already used 18, 49152 of 20, 51200 cores, ram"}]}`)
	port := `[{type: InstanceReady, status: "False", severity: Error, reason: X, message: "creating ports: Quota exceeded for resources: ['port']."}]`
	lb := base + `kind: OpenStackCluster
metadata: {name: c, namespace: prod}
status: {conditions: [{type: Ready, status: "False", severity: Warning, reason: OpenStackError, message: 'load balancer "k8s-clusterapi-cluster-prod-c-kubeapi" with id 1f is not active after timeout: x'}]}
`
	for name, test := range map[string]struct {
		objects string
		cloud   *Cloud
		want    string
	}{
		"of the present":           {base + worker("w", "{conditions: ["+fmt.Sprintf(refused, "09:00:00Z")+"]}", "{}"), nil, "key-pair-missing OpenStackMachine w"},
		"in the same second":       {base + worker("w", "{conditions: ["+fmt.Sprintf(refused, "08:00:00Z")+"]}", "{}"), nil, "key-pair-missing OpenStackMachine w"},
		"older than its object":    {base + worker("w", "{conditions: ["+fmt.Sprintf(refused, "07:59:59Z")+"]}", "{}"), nil, ""},
		"of an earlier generation": {base + worker("w", "{observedGeneration: 1, conditions: ["+fmt.Sprintf(refused, "09:00:00Z")+"]}", "{}"), nil, ""},
		"of this generation":       {base + worker("w", "{observedGeneration: 2, conditions: ["+fmt.Sprintf(refused, "09:00:00Z")+"]}", "{}"), nil, "key-pair-missing OpenStackMachine w"},
		"its own generation is earlier": {base + worker("w", "{observedGeneration: 2, conditions: ["+strings.Replace(fmt.Sprintf(refused, "09:00:00Z"), "type:", "observedGeneration: 1, type:", 1)+"]}", "{}"),
			nil, ""},
		"of a machine that goes":   {strings.Replace(base+worker("w", "{conditions: ["+fmt.Sprintf(refused, "09:00:00Z")+"]}", "{}"), "labels:", "deletionTimestamp: \"2026-01-02T09:30:00Z\", labels:", 1), nil, ""},
		"an answer of Nova":        {strings.Replace(base+worker("w", "{conditions: ["+fmt.Sprintf(refused, "09:00:00Z")+"]}", "{}"), "generation: 2}", "generation: 2}\nspec: {image: {id: gone}, flavor: gone}", 1), &Cloud{}, "key-pair-missing OpenStackMachine w"},
		"a wait for what is there": {base + worker("w", `{conditions: [{type: InstanceReady, status: "False", severity: Error, reason: WaitingForBootstrapData}]}`, "{}"), nil, ""},
		"a wait for what is not there": {base + strings.Replace(worker("w", `{conditions: [{type: InstanceReady, status: "False", severity: Error, reason: WaitingForBootstrapData}]}`, "{}"), "dataSecretName: x", "", 1),
			nil, "controller-says OpenStackMachine w"},
		"a quota that is full":                       {base + worker("w", "{}", "{conditions: "+port+"}"), &Cloud{Missing: []Unseen{{What: ListServers}}, Quotas: []Quota{{"ports", 5, 5}}}, "quota-network quota ports"},
		"a quota with room":                          {base + worker("w", "{}", "{conditions: "+port+"}"), &Cloud{Missing: []Unseen{{What: ListServers}}, Quotas: []Quota{{"ports", 9, 5}}}, ""},
		"a quota with less room than a server needs": {cores, &Cloud{Missing: []Unseen{{What: ListServers}}, Quotas: []Quota{{"cores", 20, 18}, {"ram", 51200, 0}}}, "quota-compute quota cores"},
		"a quota with room for a server":             {cores, &Cloud{Missing: []Unseen{{What: ListServers}}, Quotas: []Quota{{"cores", 20, 16}, {"ram", 51200, 43008}}}, ""},
		"one of two quotas with room":                {cores, &Cloud{Missing: []Unseen{{What: ListServers}}, Quotas: []Quota{{"cores", 20, 0}, {"ram", 51200, 43009}}}, "quota-compute quota cores"},
		"a load balancer":                            {lb, nil, "load-balancer-pending load balancer k8s-clusterapi-cluster-prod-c-kubeapi"},
		"of a cluster that goes":                     {strings.Replace(base, "prod}", "prod, deletionTimestamp: \"2026-01-02T09:30:00Z\"}", 1), &Cloud{Balancers: []Balancer{{Name: "k8s-clusterapi-cluster-prod-c-kubeapi", Provisioning: "ERROR"}}}, ""},
		"that is ACTIVE now":                         {lb, &Cloud{Balancers: []Balancer{{Name: "k8s-clusterapi-cluster-prod-c-kubeapi", Provisioning: "ACTIVE"}}}, ""},
		// Octavia makes the port of amphora's address disabled.
		"a disabled port of amphora's address": {lb, &Cloud{Balancers: []Balancer{{Name: "k8s-clusterapi-cluster-prod-c-kubeapi", Provisioning: "ACTIVE", Port: "vip", Provider: "amphora"}}, Ports: []Port{{ID: "vip"}}}, ""},
		"a disabled port of ovn's address":     {lb, &Cloud{Balancers: []Balancer{{Name: "k8s-clusterapi-cluster-prod-c-kubeapi", Provisioning: "ACTIVE", Port: "vip", Provider: "ovn"}}, Ports: []Port{{ID: "vip"}}}, "port-disabled port vip"},
		"a server that is gone": {base + worker("w", "{}", `{instanceID: "1", conditions: [{type: InstanceReady, status: "True", lastTransitionTime: "2026-01-02T09:00:00Z"}]}`),
			&Cloud{At: now}, "server-deleted server w"},
		"a list of before the server": {base + worker("w", "{}", `{instanceID: "1", conditions: [{type: InstanceReady, status: "True", lastTransitionTime: "2026-01-02T09:00:00Z"}]}`),
			&Cloud{At: now.Add(-time.Hour - time.Second)}, ""},
		"a server that nobody dates":         {base + worker("w", "{}", `{instanceID: "1"}`), &Cloud{At: now.Add(-110 * time.Minute)}, ""},
		"a server of long ago":               {base + worker("w", "{}", `{instanceID: "1"}`), &Cloud{At: now}, "server-deleted server w"},
		"an address that is lost":            {addressed("09:00:00Z", true), &Cloud{At: now}, "floating-ip-lost floating IP 203.0.113.7"},
		"a list of before the address":       {addressed("09:00:00Z", true), &Cloud{At: now.Add(-time.Hour - time.Second)}, ""},
		"an address of what is not complete": {addressed("09:00:00Z", false), &Cloud{At: now}, ""},
		"an error of a server":               {base + worker("w", "{}", `{instanceState: ERROR, conditions: [{type: InstanceReady, status: "False", severity: Error, reason: InstanceStateError}]}`), nil, "server-error OpenStackServer w"},
		"that runs now, given up on": {base + worker("w", "{}", `{instanceState: ERROR, conditions: [{type: InstanceReady, status: "False", severity: Error, reason: InstanceStateError}]}`),
			&Cloud{Servers: []Server{{ID: "1", Name: "w", Status: "ACTIVE", Created: now}}}, "machine-given-up OpenStackMachine w"},
	} {
		if got := reasons(Explain(Snapshot{Objects: read(t, test.objects), Cloud: test.cloud, Now: now})); got != test.want {
			t.Errorf("%s: %q, want %q", name, got, test.want)
		}
	}
}

// TestConsequencesAreFolded and independent causes are not.
func TestConsequencesAreFolded(t *testing.T) {
	t.Parallel()
	failed := `{instanceState: ERROR, instanceID: "%s", conditions: [{type: InstanceReady, status: "False", severity: Error, reason: InstanceStateError}]}`
	said := `{failureMessage: it is broken, conditions: [{type: Ready, status: "False", severity: Error, reason: InstanceStateError, message: "Instance is in ERROR state"}]}`
	two := base + `kind: OpenStackCluster
metadata: {name: c, namespace: prod}
status: {ready: true}
---
kind: MachineDeployment
metadata: {name: md, namespace: prod}
---
kind: HelmRelease
metadata: {name: c-cni, namespace: prod}
status: {phase: Failed, failureMessage: "timed out"}
---
` + worker("a", said, fmt.Sprintf(failed, "1")) + "---\n" + worker("b", said, fmt.Sprintf(failed, "2"))
	cloud := &Cloud{Servers: []Server{{ID: "1", Name: "a", Status: "ERROR", Fault: "No valid host was found."}, {ID: "2", Name: "b", Status: "ERROR", Fault: "Build of instance 2 aborted: Binding failed for port 3"}},
		Balancers: []Balancer{{Name: "k8s-clusterapi-cluster-prod-c-kubeapi", Provisioning: "ERROR"}}}
	a := Explain(Snapshot{Objects: read(t, two), Cloud: cloud, Now: now})
	if want := "no-valid-host server a; port-binding-failed server b; load-balancer-error load balancer k8s-clusterapi-cluster-prod-c-kubeapi"; reasons(a) != want {
		t.Fatalf("found %q, want %q", reasons(a), want)
	}
	var chain []string
	for _, r := range a.Findings[0].Chain {
		chain = append(chain, r.String())
	}
	if got := strings.Join(chain, ", "); got != "Cluster c, MachineDeployment md, Machine a, OpenStackMachine a, OpenStackServer a, server a" {
		t.Errorf("chain %s", got)
	}
	then := strings.Join(a.Findings[0].Consequences, "\n")
	if !strings.Contains(then, "OpenStackMachine a: ") || strings.Contains(then, " b: ") || a.Findings[0].Ending != Final || a.Findings[2].Ending != Outside {
		t.Errorf("of the first follows %s; endings %s, %s", then, a.Findings[0].Ending, a.Findings[2].Ending)
	}
	told := 0
	for _, f := range a.Findings {
		told += strings.Count(strings.Join(f.Consequences, "\n"), "HelmRelease c-cni")
	}
	if told != 1 {
		t.Errorf("the addon that cannot run is told %d times", told)
	}
	if about := a.About("b"); reasons(about) != "port-binding-failed server b" {
		t.Errorf("about b: %s", reasons(about))
	}
}

// TestTenantsReadNoForeignIDs, no addresses, and no details of the operator's problems.
func TestTenantsReadNoForeignIDs(t *testing.T) {
	t.Parallel()
	const own, foreign, project = "11111111-2222-4333-8444-555555555555", "99999999-2222-4333-8444-555555555555", "0123456789abcdef0123456789abcdef"
	c := &Cloud{Project: project, Servers: []Server{{ID: own}}}
	f := Finding{Object: Ref{Kind: "server", Name: "a"}, Cause: "server " + own + " of " + project + " waits for " + foreign + " at http://10.1.2.3:9696/v2.0/ports and fedcba9876543210fedcba9876543210", rule: &Rule{}}
	object, words := f.ForTenant(c)
	if want := "server " + own + " of " + project + " waits for [id] at [address] and [id]"; object != "server a" || words != want {
		t.Errorf("%s: %s", object, words)
	}
	if _, words := f.ForTenant(nil); strings.Contains(words, own) {
		t.Errorf("of an unknown cloud: %s", words)
	}
	f.Reason, f.rule = "webhook-down", &Rule{Operator: true, Meaning: "A webhook does not answer."}
	if object, words = f.ForTenant(c); object != "the service" || strings.Contains(words, "10.1.2.3") || strings.Contains(words, own) || !strings.Contains(words, "webhook-down") {
		t.Errorf("of the operator's problem: %s: %s", object, words)
	}
}

// TestRulesAreWhole: every rule can be documented and is recognised somehow, and nobody
// who reads the rules can change them.
func TestRulesAreWhole(t *testing.T) {
	t.Parallel()
	seen := map[string]bool{}
	for _, r := range Rules() {
		if seen[r.ID] || r.Layer == "" || !strings.HasSuffix(r.Meaning, ".") || r.Fix == "" || strings.HasSuffix(r.Fix, ".") || r.Ending == "" {
			t.Errorf("rule %+v", r)
		}
		if r.find == nil && r.words == nil && r.fault == nil && r.console == nil {
			t.Errorf("nothing recognises %s", r.ID)
		}
		if (r.not != nil || r.kind != "") && r.words == nil {
			t.Errorf("%s has what belongs to words, and no words", r.ID)
		}
		seen[r.ID] = true
	}
	before := Rules()[0].ID
	All()
	if Rules()[0].ID != before {
		t.Error("All sorts what rules are tried by")
	}
	for _, line := range []string{"| no-valid-host | Nova |", "| controller-says |"} {
		if !strings.Contains(Reference(), line) {
			t.Errorf("no %q on the page of reasons", line)
		}
	}
}

// TestAThousandClusters are explained in seconds of a processor, whatever else it does.
func TestAThousandClusters(t *testing.T) {
	t.Parallel()
	text := base
	for i := range 5 {
		text += worker(fmt.Sprintf("w%d", i), `{conditions: [{type: InstanceReady, status: "False", severity: Error, reason: X, message: "something that no rule knows"}]}`, "{}") + "---\n"
	}
	objects, cloud := read(t, strings.TrimSuffix(text, "---\n")), &Cloud{}
	for i := range 5000 {
		cloud.Servers = append(cloud.Servers, Server{ID: fmt.Sprint(i), Name: fmt.Sprint("s", i), Status: "ACTIVE"})
	}
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	began := worked(t)
	for range 1000 {
		if a := Explain(Snapshot{Objects: objects, Cloud: cloud, Now: now}); len(a.Findings) != 5 {
			t.Fatalf("found %s", reasons(a))
		}
	}
	if took := worked(t) - began; took > 20*time.Second {
		t.Errorf("it took %s", took)
	} else {
		t.Log(took)
	}
}

// worked is how long this thread has had a processor.
func worked(t *testing.T) time.Duration {
	t.Helper()
	var used unix.Rusage
	if err := unix.Getrusage(unix.RUSAGE_THREAD, &used); err != nil {
		t.Fatal(err)
	}
	return time.Duration(used.Utime.Nano() + used.Stime.Nano())
}

// TestWhatPlacementSaysIsEvidence for servers of its shape.
func TestWhatPlacementSaysIsEvidence(t *testing.T) {
	t.Parallel()
	c := &Cloud{Servers: []Server{{ID: "w1", Name: "w1", Status: "ERROR", Flavor: "huge", Fault: "No valid host was found."}},
		Rooms: []Room{{Shape{Flavor: "huge", OnVolume: true}, "of another"}, {Shape{Flavor: "huge"}, "no host has VCPU:9999 free"}}}
	s := Snapshot{Servers: []Ref{{Kind: "server", Name: "w1", ID: "w1"}}, Cloud: c, Now: time.Now()}
	if d := Closer(s); len(d.Shapes) != 1 || d.Shapes[0] != (Shape{Flavor: "huge"}) {
		t.Errorf("it asks Placement about %v", d.Shapes)
	}
	a := Explain(s)
	if len(a.Findings) != 1 || len(a.Findings[0].Evidence) != 2 || a.Findings[0].Evidence[1] != "Placement: no host has VCPU:9999 free" {
		t.Errorf("found %+v", a.Findings)
	}
}
