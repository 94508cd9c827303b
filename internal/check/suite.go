package check

import (
	"cmp"
	"context"
	"encoding/json"
	"encoding/xml"
	"errors"
	"fmt"
	"net/url"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	"github.com/slipway-sh/slipway/internal/check/inside"
)

// Conformance is the name of the check that runs Kubernetes' own tests.
const Conformance = "conformance"

const (
	suitePod       = "conformance"
	suiteContainer = "tests"
	suiteFolder    = "/tmp/results"
	// testNamespaces is the label on the namespaces of Kubernetes' tests.
	testNamespaces = "e2e-run"
)

// Suite says which of Kubernetes' tests to run, and how.
type Suite struct {
	// Image is upstream's conformance image, of the version of the cluster.
	Image string
	// Focus and Exclude are regular expressions on the names of tests.
	Focus, Exclude string
	// Processes run tests side by side, without those that need the cluster for themselves.
	Processes int
	// Registry has the images of the tests; empty is upstream's registries.
	Registry string
	// Patience is how long all tests may take.
	Patience time.Duration
	// Keep gets each file of the results, by its name; nil keeps none.
	Keep func(name string, text []byte) error
}

// Tests are the results of a suite.
type Tests struct {
	Passed  int `json:"passed"`
	Failed  int `json:"failed"`
	Skipped int `json:"skipped"`
	// Failures are the names of the tests that failed.
	Failures []string `json:"failures,omitempty"`
}

// alone refuses to start beside another run of the same tests: they would disturb each other,
// and in the end this one would delete the namespaces of both.
func (r *run) alone(ctx context.Context) error {
	const checks = Label + "=" + Conformance
	for _, all := range []string{testNamespaces, checks} {
		list, err := r.Client.CoreV1().Namespaces().List(ctx, metav1.ListOptions{LabelSelector: all})
		if err != nil {
			return fmt.Errorf("listing namespaces of Kubernetes' tests: %w", err)
		}
		for _, n := range list.Items {
			// A check that was killed long ago is deleted by the next, and one that cleans up has ended.
			over := all == checks && (n.DeletionTimestamp != nil || time.Since(n.CreationTimestamp.Time) > abandonedTests)
			if !over {
				return fmt.Errorf("namespace %s is of another run of Kubernetes' tests: wait for its end or, if it was killed, delete what it left: kubectl delete namespace -l %s", n.Name, all)
			}
		}
	}
	return nil
}

func (r *run) testNamespaces(ctx context.Context) ([]corev1.Namespace, error) {
	list, err := r.Client.CoreV1().Namespaces().List(ctx, metav1.ListOptions{LabelSelector: testNamespaces})
	if err != nil {
		return nil, fmt.Errorf("listing namespaces of Kubernetes' tests: %w", err)
	}
	return list.Items, nil
}

// startSuite starts the pod of the tests, which administers the cluster until the namespace
// of the check is deleted: the binding has that for its owner.
func (r *run) startSuite(ctx context.Context) (string, error) {
	namespace, err := r.Client.CoreV1().Namespaces().Get(ctx, r.namespace, metav1.GetOptions{})
	if err != nil {
		return "", fmt.Errorf("reading namespace %s: %w", r.namespace, err)
	}
	binding := &rbacv1.ClusterRoleBinding{ObjectMeta: metav1.ObjectMeta{Name: r.namespace, Labels: map[string]string{Label: r.Name},
		OwnerReferences: []metav1.OwnerReference{{APIVersion: "v1", Kind: "Namespace", Name: namespace.Name, UID: namespace.UID}}},
		RoleRef:  rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: "cluster-admin"},
		Subjects: []rbacv1.Subject{{Kind: rbacv1.ServiceAccountKind, Namespace: r.namespace, Name: suitePod}}}
	if _, err := r.Client.RbacV1().ClusterRoleBindings().Create(ctx, binding, metav1.CreateOptions{}); err != nil {
		return "", fmt.Errorf("making the administrator of the tests: %w", err)
	}
	account := &corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Name: suitePod}}
	if _, err := r.Client.CoreV1().ServiceAccounts(r.namespace).Create(ctx, account, metav1.CreateOptions{}); err != nil {
		return "", fmt.Errorf("making the account of the tests: %w", err)
	}
	p := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: suitePod}, Spec: r.suiteSpec()}
	if _, err := r.Client.CoreV1().Pods(r.namespace).Create(ctx, p, metav1.CreateOptions{}); err != nil {
		return "", fmt.Errorf("making the pod of the tests: %w", err)
	}
	last := "no pod"
	err = r.until(ctx, func() (bool, error) {
		p, err = r.Client.CoreV1().Pods(r.namespace).Get(ctx, suitePod, metav1.GetOptions{})
		if err != nil {
			return false, err
		}
		if now := state(*p); now != last {
			last = now
			r.Tell(Step{Name: StepSuite, Detail: "pod " + suitePod + ": " + last})
		}
		return isReady(*p) || r.ended(p) != nil, nil
	})
	if err != nil {
		return "", fmt.Errorf("%w; pod %s: %s", err, suitePod, last)
	}
	return fmt.Sprintf("%s on %s", r.Suite.Image, p.Spec.NodeName), nil
}

// suiteSpec is a pod of two containers: upstream's with the tests, and the server that reads
// their log and their results.
func (r *run) suiteSpec() corev1.PodSpec {
	spec := r.spec()
	server := &spec.Containers[0]
	server.Args = append(server.Args, "--results", suiteFolder)
	server.SecurityContext.RunAsNonRoot, server.SecurityContext.RunAsUser = ptr.To(true), spec.SecurityContext.RunAsUser
	spec.SecurityContext.RunAsNonRoot, spec.SecurityContext.RunAsUser = nil, nil // upstream's image is root's
	spec.AutomountServiceAccountToken, spec.ServiceAccountName = nil, suitePod
	spec.RestartPolicy = corev1.RestartPolicyNever
	spec.ActiveDeadlineSeconds = ptr.To(int64((r.Suite.Patience + r.Patience).Seconds()))
	// Some tests taint the nodes, or fill them.
	spec.Tolerations = []corev1.Toleration{{Operator: corev1.TolerationOpExists}}
	exclude, processes := r.Suite.Exclude, ""
	if r.Suite.Processes > 1 {
		processes = fmt.Sprintf("--procs=%d", r.Suite.Processes)
		exclude = strings.TrimSuffix(`\[Serial\]|`+exclude, "|")
	}
	env := []corev1.EnvVar{{Name: "E2E_FOCUS", Value: r.Suite.Focus}, {Name: "E2E_SKIP", Value: exclude}, {Name: "E2E_PROVIDER", Value: "skeleton"},
		{Name: "E2E_PARALLEL", Value: "false"}, {Name: "E2E_EXTRA_GINKGO_ARGS", Value: processes}, {Name: "RESULTS_DIR", Value: suiteFolder}}
	if r.Suite.Registry != "" {
		env = append(env, corev1.EnvVar{Name: "KUBE_TEST_REPO", Value: r.Suite.Registry})
	}
	spec.Volumes = []corev1.Volume{{Name: "results", VolumeSource: corev1.VolumeSource{EmptyDir: &corev1.EmptyDirVolumeSource{}}}}
	mounts := []corev1.VolumeMount{{Name: "results", MountPath: suiteFolder}}
	server.VolumeMounts = mounts
	spec.Containers = append(spec.Containers, corev1.Container{Name: suiteContainer, Image: r.Suite.Image, ImagePullPolicy: corev1.PullIfNotPresent, Env: env, VolumeMounts: mounts,
		Resources:       corev1.ResourceRequirements{Requests: corev1.ResourceList{corev1.ResourceCPU: resource.MustParse("100m"), corev1.ResourceMemory: resource.MustParse("256Mi")}},
		SecurityContext: &corev1.SecurityContext{AllowPrivilegeEscalation: ptr.To(false)}})
	return spec
}

// ended is how the tests' container ended; nil while it runs.
func (r *run) ended(p *corev1.Pod) *corev1.ContainerStateTerminated {
	for _, c := range p.Status.ContainerStatuses {
		if c.Name == suiteContainer {
			return c.State.Terminated
		}
	}
	return nil
}

// waitForSuite says how far the tests are, and reads their results.
func (r *run) waitForSuite(ctx context.Context) (string, error) {
	var end *corev1.ContainerStateTerminated
	var lost error
	said := inside.Progress{}
	err := r.until(ctx, func() (bool, error) {
		p, err := r.Client.CoreV1().Pods(r.namespace).Get(ctx, suitePod, metav1.GetOptions{})
		switch {
		case apierrors.IsNotFound(err):
			lost = errors.New("the pod of the tests was deleted")
			return true, nil
		case err != nil:
			return false, err
		case p.Status.Phase == corev1.PodFailed:
			lost = errors.New("the pod of the tests was ended: " + strings.TrimSpace(p.Status.Reason+" "+p.Status.Message))
			return true, nil
		}
		if end = r.ended(p); end != nil {
			return true, nil
		}
		text, err := r.Ask(ctx, r.namespace, suitePod, inside.PathProgress, url.Values{"token": {r.token}})
		now := inside.Progress{}
		if err == nil && json.Unmarshal([]byte(text), &now) == nil && now != said {
			said = now
			r.Tell(Step{Name: StepTests, Detail: words(now)})
		}
		return false, nil
	})
	if err = cmp.Or(err, lost); err != nil {
		return "", errors.Join(fmt.Errorf("%w; %s", err, words(said)), r.keepLog(context.WithoutCancel(ctx)))
	}
	return r.results(ctx, end)
}

func words(p inside.Progress) string {
	if p.Total == 0 {
		return "the tests are being chosen"
	}
	text := fmt.Sprintf("%d of %d ended", p.Ended, p.Total)
	if p.Failed > 0 {
		text += fmt.Sprintf(", %d failed", p.Failed)
	}
	return text
}

// results reads and keeps the files that the tests left.
func (r *run) results(ctx context.Context, end *corev1.ContainerStateTerminated) (string, error) {
	files := map[string][]byte{}
	for _, name := range []string{inside.FileJUnit, inside.FileLog} {
		text, err := r.Ask(ctx, r.namespace, suitePod, inside.PathResult, url.Values{"token": {r.token}, "of": {name}})
		if err != nil {
			return "", fmt.Errorf("the tests ended with exit code %d and left no %s; their container says: %s", end.ExitCode, name, r.saidBySuite(ctx))
		}
		files[name] = []byte(text)
		if r.Suite.Keep != nil {
			if err := r.Suite.Keep(name, files[name]); err != nil {
				return "", err
			}
		}
	}
	tests, err := readTests(files[inside.FileJUnit])
	if err != nil {
		return "", err
	}
	r.mu.Lock()
	r.tests = tests
	r.mu.Unlock()
	switch {
	case tests.Failed > 0:
		return "", fmt.Errorf("%d of %d failed: %s", tests.Failed, tests.Failed+tests.Passed, strings.Join(tests.Failures, "; "))
	case end.ExitCode != 0:
		return "", fmt.Errorf("exit code %d although no test failed; their container says: %s", end.ExitCode, r.saidBySuite(ctx))
	case tests.Passed == 0:
		return "", errors.New("no test has such a name")
	}
	return fmt.Sprintf("%d passed", tests.Passed), nil
}

// logTime bounds the reading of a log that is not complete.
const logTime = 30 * time.Second

// keepLog keeps what tests that did not end have printed, if it can be read.
func (r *run) keepLog(ctx context.Context) error {
	if r.Suite.Keep == nil {
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, logTime)
	defer cancel()
	text, err := r.Ask(ctx, r.namespace, suitePod, inside.PathResult, url.Values{"token": {r.token}, "of": {inside.FileLog}})
	if err != nil {
		return fmt.Errorf("their log is lost: %w", err)
	}
	return r.Suite.Keep(inside.FileLog, []byte(text))
}

// saidBySuite is the end of what the container of the tests printed.
func (r *run) saidBySuite(ctx context.Context) string {
	text, err := r.Client.CoreV1().Pods(r.namespace).GetLogs(suitePod, &corev1.PodLogOptions{Container: suiteContainer, TailLines: ptr.To(int64(5))}).DoRaw(ctx)
	if err != nil {
		return err.Error()
	}
	return strings.TrimSpace(string(text))
}

// readTests counts what JUnit's XML of Kubernetes' tests says. What is not a test, as the
// preparation of the suite, counts if it failed.
func readTests(text []byte) (*Tests, error) {
	var parsed struct {
		Suites []struct {
			Cases []struct {
				Name    string    `xml:"name,attr"`
				Skipped *struct{} `xml:"skipped"`
				Failure *struct{} `xml:"failure"`
				Error   *struct{} `xml:"error"`
			} `xml:"testcase"`
		} `xml:"testsuite"`
	}
	if err := xml.Unmarshal(text, &parsed); err != nil {
		return nil, fmt.Errorf("reading %s: %w", inside.FileJUnit, err)
	}
	t := &Tests{}
	for _, suite := range parsed.Suites {
		for _, c := range suite.Cases {
			name, is := strings.CutPrefix(c.Name, "[It] ")
			switch {
			case c.Failure != nil || c.Error != nil:
				t.Failed++
				t.Failures = append(t.Failures, name)
			case !is:
			case c.Skipped != nil:
				t.Skipped++
			default:
				t.Passed++
			}
		}
	}
	slices.Sort(t.Failures)
	return t, nil
}

// cleanTests deletes the namespaces that tests have left, which were interrupted: there were
// none when the check began.
func (r *run) cleanTests(ctx context.Context) error {
	list, err := r.testNamespaces(ctx)
	for _, n := range list {
		if n.DeletionTimestamp == nil {
			err = errors.Join(err, r.Client.CoreV1().Namespaces().Delete(ctx, n.Name, metav1.DeleteOptions{}))
		}
	}
	return err
}
