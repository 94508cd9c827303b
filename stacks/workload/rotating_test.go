package workload

import (
	"encoding/json"
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/gophercloud/gophercloud/v2/openstack/identity/v3/applicationcredentials"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/kubernetes/fake"
	clienttesting "k8s.io/client-go/testing"

	"github.com/slipway-sh/slipway/internal/fault"
	"github.com/slipway-sh/slipway/internal/kube"
	"github.com/slipway-sh/slipway/internal/sandbox/sandboxtest"
	"github.com/slipway-sh/slipway/stacks"
)

func silent(string) {}

// answers has one kind of call of a client fail with an error from now on; nil has them done again.
func answers(client *fake.Clientset, verb string) func(error) {
	var with error
	client.PrependReactor(verb, "secrets", func(clienttesting.Action) (bool, runtime.Object, error) { return with != nil, nil, with })
	return func(err error) { with = err }
}

func conflict() error {
	return apierrors.NewConflict(corev1.Resource("secrets"), "x", errors.New("changed"))
}

func revokeInCloud(t *testing.T, box *sandboxtest.Cloud, c Cloud, ids ...string) {
	t.Helper()
	for _, id := range ids {
		if err := applicationcredentials.Delete(t.Context(), box.Member.Identity(t), c.UserID, id).ExtractErr(); err != nil {
			t.Fatal(err)
		}
	}
}

// TestWhoseCredentialIsRotated: ours alone, each of the others with what to do instead.
func TestWhoseCredentialIsRotated(t *testing.T) {
	t.Parallel()
	s, ours, magnums, others := filled(t)
	now := metav1.Now()
	going := Key{Namespace: "shop", Name: "going"}
	s.keeps(going, nil, func(o *unstructured.Unstructured) {
		o.SetDeletionTimestamp(&now)
		o.SetFinalizers([]string{"cluster.cluster.x-k8s.io"})
	})
	for name, test := range map[string]struct {
		key  Key
		want string
		exit fault.Exit
	}{
		"the management cluster": {Key{Namespace: stacks.ManagementNamespace, Name: "prod"}, "it is the management cluster itself", fault.ExitUsage},
		"the Magnum API's":       {magnums, "the Magnum API created it", fault.ExitUsage},
		"another's":              {others, "Slipway did not create its credential", fault.ExitUsage},
		"one as it is":           {ours, "Slipway did not create its credential", fault.ExitUsage},
		"one that goes":          {going, "it is being deleted", fault.ExitFailure},
		"none":                   {Key{Namespace: "shop", Name: "none"}, "it does not exist", fault.ExitUsage},
	} {
		if _, err := s.RotateCredential(t.Context(), s.cloud, test.key, 0, silent); err == nil || !strings.Contains(err.Error(), test.want) || fault.ExitCode(err) != test.exit || fault.Remedy(err) == "" {
			t.Errorf("%s: %v (exit %d, %s)", name, err, fault.ExitCode(err), fault.Remedy(err))
		}
	}
	for label, want := range map[string]string{"shop": "", "other": "it exists already, but does not belong to this cluster"} {
		secret := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: SecretName("shop"), Labels: map[string]string{LabelCluster: label}}}
		if _, err := s.typed.CoreV1().Secrets("shop").Create(t.Context(), secret, metav1.CreateOptions{}); err != nil {
			t.Fatal(err)
		}
		if _, err := s.mayRotate(t.Context(), ours); (err == nil) != (want == "") || err != nil && !strings.Contains(err.Error(), want) {
			t.Errorf("with a Secret of %s: %v", label, err)
		}
		if err := s.typed.CoreV1().Secrets("shop").Delete(t.Context(), secret.Name, metav1.DeleteOptions{}); err != nil {
			t.Fatal(err)
		}
	}
}

// TestRotationsOfTwoRuns: of those that write at once one is told so, what a run began the next goes on
// with, and a credential that was replaced meanwhile is not revoked.
func TestRotationsOfTwoRuns(t *testing.T) {
	t.Parallel()
	box, c := openCloud(t)
	client := fake.NewClientset()
	m := &Management{Environment: "prod", Kube: &kube.Cluster{Typed: client}}
	key := Key{Namespace: "c1", Name: "c1"}
	if _, err := m.ensureCredential(t.Context(), c, key); err != nil {
		t.Fatal(err)
	}
	first := credentialsOf(t, box, c, "c1")
	update, patch, get := answers(client, "update"), answers(client, "patch"), answers(client, "get")
	for _, test := range []struct {
		err  error
		want string
	}{{conflict(), "cluster c1/c1: another run writes its credential at the same time"}, {errAway, "writing the credential's Secret: the API server is away"}} {
		update(test.err)
		if _, err := m.replaceCredential(t.Context(), c, key); err == nil || err.Error() != test.want {
			t.Errorf("%v, want %s", err, test.want)
		}
	}
	update(nil)
	rotated, err := m.replaceCredential(t.Context(), c, key)
	if err != nil {
		t.Fatal(err)
	}
	if f := formerOf(rotated); !slices.Equal(f.IDs, first) || f.UserID != c.UserID || f.Lost || f.Since.IsZero() || len(f.Earlier) > 0 {
		t.Errorf("the former ones are %+v", f)
	}
	again, err := m.replaceCredential(t.Context(), c, key)
	if err != nil || !slices.Equal(idsIn(again), idsIn(rotated)) {
		t.Errorf("the next run has %v, not %v: %v", idsIn(again), idsIn(rotated), err)
	}
	get(errAway)
	if _, err := m.revokeFormer(t.Context(), c, key, rotated); !errors.Is(err, errAway) {
		t.Errorf("a Secret that is not told: %v", err)
	}
	if _, err := m.replaceCredential(t.Context(), c, key); !errors.Is(err, errAway) {
		t.Errorf("a Secret that is not told: %v", err)
	}
	get(nil)
	stale := rotated.DeepCopy()
	stale.Data[keyClouds] = cloudsOf("another")
	unaware := rotated.DeepCopy()
	delete(unaware.Annotations, annotationFormer)
	for what, other := range map[string]*corev1.Secret{"another credential": stale, "another rotation": unaware} {
		if revoked, err := m.revokeFormer(t.Context(), c, key, other); err == nil || !strings.Contains(err.Error(), "another run has written its credential meanwhile") || fault.Remedy(err) == "" || len(revoked) > 0 {
			t.Errorf("%s: %v, %v", what, revoked, err)
		}
	}
	patch(errAway)
	if _, err := m.revokeFormer(t.Context(), c, key, rotated); err == nil || err.Error() != "writing the credential's Secret: the API server is away" {
		t.Errorf("a Secret that cannot be written: %v", err)
	}
	patch(nil)
	if _, err := m.revokeFormer(t.Context(), c, key, rotated); err != nil {
		t.Error(err)
	}
	if now := credentialsOf(t, box, c, "c1"); !slices.Equal(now, idsIn(rotated)) {
		t.Errorf("credentials %v, want %v", now, idsIn(rotated))
	}
	if secret, err := m.credentialSecret(t.Context(), key); err != nil || formerOf(secret).UserID != "" {
		t.Errorf("the Secret has %v, %v", secret.Annotations, err)
	}
	if err := client.CoreV1().Secrets("c1").Delete(t.Context(), SecretName("c1"), metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	if _, err := m.revokeFormer(t.Context(), c, key, rotated); err == nil || !strings.Contains(err.Error(), "meanwhile") {
		t.Errorf("without a Secret: %v", err)
	}
	create := answers(client, "create")
	create(apierrors.NewAlreadyExists(corev1.Resource("secrets"), "x"))
	if _, err := m.replaceCredential(t.Context(), c, key); err == nil || !strings.Contains(err.Error(), "another run writes its credential at the same time") {
		t.Errorf("a Secret that came in between: %v", err)
	}
}

// TestACredentialThatIsReplacedTwice is remembered until it is revoked.
func TestACredentialThatIsReplacedTwice(t *testing.T) {
	t.Parallel()
	box, c := openCloud(t)
	client := fake.NewClientset()
	m := &Management{Environment: "prod", Kube: &kube.Cluster{Typed: client}}
	key := Key{Namespace: "c1", Name: "c1"}
	var all []string
	for range 3 { // each is lost before its rotation ends
		secret, err := m.replaceCredential(t.Context(), c, key)
		if err != nil {
			t.Fatal(err)
		}
		known := knownIn(secret)
		for _, id := range all {
			if !slices.Contains(known, id) {
				t.Errorf("%s is forgotten: %v", id, known)
			}
		}
		if !formerOf(secret).Lost {
			t.Errorf("nobody says that one is lost: %+v", formerOf(secret))
		}
		all = append(all, idsIn(secret)...)
		revokeInCloud(t, box, c, idsIn(secret)...)
	}
	if ids := knownIn(nil); ids != nil {
		t.Errorf("without a Secret: %v", ids)
	}
	broken := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Annotations: map[string]string{annotationFormer: `{"ids": ["x"], "userId": 7}`}}}
	if f := formerOf(broken); f.IDs != nil || !f.Since.IsZero() {
		t.Errorf("what cannot be read is %+v", f)
	}
	f := former{IDs: []string{"mine"}, UserID: "me", Earlier: []former{{IDs: []string{"a", "b"}, UserID: "you"}, {IDs: []string{"nobody's"}}}}
	if notes := f.notes("me"); len(notes) != 2 || notes[0] != "application credential a stays: only user you, who created it, can delete it" {
		t.Errorf("notes %q", notes)
	}
}

// TestALostCredentialIsReplacedAndHandedOut: with the cluster's programs, and for its deletion.
func TestALostCredentialIsReplacedAndHandedOut(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	w := wanted(t, "shop", small)
	s.make(t.Context(), w)
	key := s.installed(w)
	renew := func(what string, changed, pending bool) {
		t.Helper()
		if gotChanged, gotPending, err := s.renewCredential(t.Context(), s.cloud, key, silent); err != nil || gotChanged != changed || gotPending != pending {
			t.Errorf("%s: changed %t, pending %t, %v", what, gotChanged, gotPending, err)
		}
	}
	renew("one that works", false, false)
	before := idsIn(s.secret("shop"))
	revokeInCloud(t, s.box, s.cloud, before...)
	renew("one that is lost", true, true)
	renew("one that is not handed out yet", false, true)
	secret := s.secret("shop")
	f := formerOf(secret)
	f.Since = f.Since.Add(-time.Hour) // the overlap is over
	text, err := json.Marshal(f)
	if err != nil {
		t.Fatal(err)
	}
	secret.Annotations[annotationFormer] = string(text)
	if _, err := s.typed.CoreV1().Secrets("shop").Update(t.Context(), secret, metav1.UpdateOptions{}); err != nil {
		t.Fatal(err)
	}
	if err := s.handOut(t.Context(), s.cloud, key, silent); err != nil {
		t.Error(err)
	}
	renew("one that is handed out", false, false)
	if now := credentialsOf(t, s.box, s.cloud, "shop"); !slices.Equal(now, idsIn(s.secret("shop"))) || slices.Equal(now, before) {
		t.Errorf("credentials %v, had %v", now, before)
	}
	lend := func(what string, key Key, want int) {
		t.Helper()
		var said []string
		if err := s.lendCredential(t.Context(), s.cloud, key, func(text string) { said = append(said, text) }); err != nil || len(said) != want {
			t.Errorf("%s: %v; said %q", what, err, said)
		}
	}
	lend("one that works", key, 0)
	lend("none", Key{Namespace: "none", Name: "none"}, 0)
	if err := s.typed.CoreV1().Secrets("shop").Delete(t.Context(), SecretName("shop"), metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	if err := s.handOut(t.Context(), s.cloud, key, silent); err != nil {
		t.Errorf("without a Secret: %v", err)
	}
	lend("one that is lost", key, 1)
	if works, err := s.cloud.works(t.Context(), s.secret("shop")); err != nil || !works {
		t.Errorf("what was lent logs in: %t, %v", works, err)
	}
	s.fails("get", "clusters", "shop")
	var said []string
	s.nudge(t.Context(), key, s.secret("shop"), func(text string) { said = append(said, text) })
	if len(said) != 1 || !strings.Contains(said[0], "within minutes: ") {
		t.Errorf("Cluster API that cannot be told: %q", said)
	}
	s.fails("get", "secrets", "shop")
	_, lost, err := s.lost(t.Context(), s.cloud, key)
	changed, pending, failed := s.renewCredential(t.Context(), s.cloud, key, silent)
	for what, err := range map[string]error{"lost": err, "renewing": failed, "handing out": s.handOut(t.Context(), s.cloud, key, silent), "lending": s.lendCredential(t.Context(), s.cloud, key, silent)} {
		if !errors.Is(err, errAway) || lost || changed || pending {
			t.Errorf("%s: %v", what, err)
		}
	}
}

// TestACredentialOfAnotherThatTheClusterHadIsNamed, while it logs in and nobody here can revoke it.
func TestACredentialOfAnotherThatTheClusterHadIsNamed(t *testing.T) {
	t.Parallel()
	box, c := openCloud(t)
	m := &Management{Environment: "prod"}
	data, err := m.issue(t.Context(), c, Key{Namespace: "c1", Name: "c1"})
	if err != nil {
		t.Fatal(err)
	}
	id, had := idIn(data[keyClouds]), &corev1.Secret{Data: data}
	named := func(what string, had *corev1.Secret, known []string, want bool) {
		t.Helper()
		if notes := others(t.Context(), had, known); (len(notes) == 1) != want || want && !strings.HasPrefix(notes[0], "application credential "+id+", which the cluster had, stays") {
			t.Errorf("%s: %q", what, notes)
		}
	}
	named("no Secret", nil, nil, false)
	named("nothing in it", &corev1.Secret{}, nil, false)
	named("one's own", had, []string{id}, false)
	named("another's", had, []string{"own"}, true)
	revokeInCloud(t, box, c, id)
	named("one that is gone", had, nil, false)
}
