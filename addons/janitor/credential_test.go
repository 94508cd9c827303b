package janitor

import (
	"encoding/pem"
	"errors"
	"fmt"
	"io"
	"log"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"strings"
	"testing"

	"github.com/gophercloud/gophercloud/v2/openstack/identity/v3/applicationcredentials"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

func (s *site) getSecret() error {
	return s.kube.Get(s.Context(), client.ObjectKey{Namespace: s.Namespace, Name: s.Name + "-cloud-credentials"}, &corev1.Secret{})
}

// asked writes the identity Secret anew, with a policy to delete it.
func (s *site) asked(unrestricted bool) *applicationcredentials.ApplicationCredential {
	s.Helper()
	c := s.credential(unrestricted)
	s.secret(s.Namespace, s.Name+"-cloud-credentials", s.clouds(c), map[string]string{CredentialPolicyAnnotation: policyDelete})
	return c
}

func (w *world) getCredential(id string) error {
	return applicationcredentials.Get(w.Context(), w.cloud.Member.Identity(w), w.userID(), id).Err
}

// proves: F145
func TestTheCredentialGoesLast(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	s := w.cluster("default", "prod", finalized(Finalizer, capoFinalizer))
	c := s.asked(true)
	volume := s.volume(nil)
	s.delete()
	for range 4 {
		s.once()
	}
	absent(t, "volume", w.getVolume(volume))
	present(t, "credential while CAPO works", w.getCredential(c.ID))
	present(t, "Secret while CAPO works", s.getSecret())
	if s.object() == nil || !cleaned(target{object: s.object()}) {
		t.Fatalf("condition %v, want it clean and waiting", conditionOf(s.object()))
	}
	s.edit(finalized(Finalizer))
	s.settle()
	absent(t, "credential", w.getCredential(c.ID))
	if client.IgnoreNotFound(s.getSecret()) != nil || s.getSecret() == nil {
		t.Errorf("the Secret is there: %v", s.getSecret())
	}
}

// proves: F145
func TestARestrictedCredentialDoesNotBlock(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	s := w.cluster("default", "prod")
	c := s.asked(false)
	s.delete()
	s.settle()
	present(t, "a credential that may not delete itself", w.getCredential(c.ID))
	if s.getSecret() == nil {
		t.Error("the Secret is there")
	}
	if told := w.told(); !strings.Contains(told, EventCredentialKept) || !strings.Contains(told, c.ID) {
		t.Errorf("events:\n%s", told)
	}
}

func TestWithoutThePolicyTheCredentialStays(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	s := w.cluster("default", "prod")
	c := w.credential(true)
	w.secret("default", "prod-cloud-credentials", w.clouds(c), map[string]string{CredentialPolicyAnnotation: "Delete"})
	s.delete()
	s.settle()
	present(t, "credential", w.getCredential(c.ID))
	present(t, "Secret", s.getSecret())
}

func TestACredentialThatAnotherClusterUsesStays(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	s := w.cluster("default", "prod")
	w.cluster("default", "other", func(o *unstructured.Unstructured) {
		_ = unstructured.SetNestedField(o.Object, "prod-cloud-credentials", "spec", "identityRef", "name")
	})
	c := s.asked(true)
	s.delete()
	s.settle()
	present(t, "credential", w.getCredential(c.ID))
	present(t, "Secret", s.getSecret())
	if told := w.told(); !strings.Contains(told, "OpenStackCluster other") {
		t.Errorf("events:\n%s", told)
	}
}

// An attempt that was killed after the credential was gone is no leak, and the
// next one ends it.
func TestKilledWhileTheCredentialWasDeleted(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	s := w.cluster("default", "prod", finalized(Finalizer, capoFinalizer))
	c := s.asked(true)
	s.delete()
	s.once()
	if err := applicationcredentials.Delete(t.Context(), w.cloud.Member.Identity(t), w.userID(), c.ID).ExtractErr(); err != nil {
		t.Fatal(err)
	}
	s.edit(finalized(Finalizer))
	s.settle()
}

// proves: F147
func TestAMissingSecretIsToldAndHolds(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	s := w.cluster("default", "prod")
	volume := s.volume(nil)
	secret := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "prod-cloud-credentials"}}
	if err := w.kube.Delete(t.Context(), secret); err != nil {
		t.Fatal(err)
	}
	s.delete()
	s.held(ReasonCredentialMissing, "Secret default/prod-cloud-credentials does not exist", ReleaseAnnotation+"=true")
	if told := w.told(); strings.Count(told, "Warning "+ReasonCredentialMissing) != 1 {
		t.Errorf("want one event for several attempts:\n%s", told)
	}
	w.secret("default", "prod-cloud-credentials", w.clouds(w.credential(false)), nil)
	s.settle()
	absent(t, "volume", w.getVolume(volume))
}

// proves: F147
func TestADeadCredentialIsToldAndCanBeReleased(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	s := w.cluster("default", "prod")
	volume := s.volume(nil)
	c := w.credential(false)
	w.secret("default", "prod-cloud-credentials", w.clouds(c), map[string]string{CredentialPolicyAnnotation: policyDelete})
	if err := applicationcredentials.Delete(t.Context(), w.cloud.Member.Identity(t), w.userID(), c.ID).ExtractErr(); err != nil {
		t.Fatal(err)
	}
	s.delete()
	s.held(ReasonCredentialMissing, "refused", ReleaseAnnotation)
	if message := fmt.Sprint(conditionOf(s.object())["message"]); strings.Contains(message, c.Secret) {
		t.Errorf("the message has the secret: %s", message)
	}
	s.annotate(ReleaseAnnotation, "yes")
	s.held(ReasonCredentialMissing)
	s.annotate(ReleaseAnnotation, "true")
	s.settle()
	present(t, "volume", w.getVolume(volume))
	if told := w.told(); !strings.Contains(told, "Warning "+EventReleased) {
		t.Errorf("events:\n%s", told)
	}
}

// What never got a network had no machines, and so no volumes: it goes without
// a credential.
func TestWhatWasNeverProvisionedIsLetGo(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	s := w.cluster("default", "prod", func(o *unstructured.Unstructured) {
		delete(o.Object, "status")
		unstructured.RemoveNestedField(o.Object, "spec", "controlPlaneEndpoint")
		_ = unstructured.SetNestedField(o.Object, "missing", "spec", "identityRef", "name")
	})
	s.delete()
	s.settle()
	if told := w.told(); !strings.Contains(told, EventNothing) {
		t.Errorf("events:\n%s", told)
	}
}

// proves: F148
func TestCertificatesOfTheCloud(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	address, err := url.Parse(w.cloud.URL())
	if err != nil {
		t.Fatal(err)
	}
	door := httptest.NewUnstartedServer(&httputil.ReverseProxy{Rewrite: func(r *httputil.ProxyRequest) { r.SetURL(address) }})
	door.Config.ErrorLog = log.New(io.Discard, "", 0) // clients that refuse the certificate are wanted
	door.StartTLS()
	t.Cleanup(door.Close)
	authority := string(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: door.Certificate().Raw}))
	indented := strings.ReplaceAll(strings.TrimSpace(authority), "\n", "\n      ")
	for name, test := range map[string]struct {
		more, cacert string
		trusted      bool
	}{
		"unknown authority":        {"", "", false},
		"cacert in the Secret":     {"", authority, true},
		"verify: false":            {"    verify: false\n", "", true},
		"verify: true":             {"    verify: true\n", "", false},
		"text in clouds.yaml":      {"    cacert: |\n      " + indented + "\n", "", true},
		"a path of another host":   {"    cacert: /home/me/ca.pem\n", authority, true},
		"a path and nothing else":  {"    cacert: /etc/hostname\n", "", false},
		"insecure, as the SDK has": {"    insecure: true\n", "", true},
	} {
		s := w.cluster("default", "c-"+strings.NewReplacer(" ", "-", ":", "", ".", "", ",", "").Replace(strings.ToLower(name)))
		clouds := strings.Replace(w.clouds(w.credential(false)), w.cloud.URL()+"/identity", door.URL+address.Path+"/identity/v3", 1) + test.more
		secret := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: s.Name + "-cloud-credentials"},
			Data: map[string][]byte{cloudsKey: []byte(clouds), authorityKey: []byte(test.cacert)}}
		if err := w.kube.Update(t.Context(), secret); err != nil {
			t.Fatal(err)
		}
		volume := s.volume(nil)
		s.delete()
		if test.trusted {
			s.settle()
			absent(t, name+": volume", w.getVolume(volume))
			continue
		}
		s.held(ReasonCloudUnreachable, "certificate")
		present(t, name+": volume", w.getVolume(volume))
	}
}

func TestIdentitiesForAllNamespaces(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.secret("capo-system", "shared", w.clouds(w.credential(true)), map[string]string{CredentialPolicyAnnotation: policyDelete})
	identity := &unstructured.Unstructured{Object: map[string]any{"spec": map[string]any{
		"secretRef":         map[string]any{"name": "shared", "namespace": "capo-system"},
		"namespaceSelector": map[string]any{"matchLabels": map[string]any{"team": "a"}},
	}}}
	identity.SetGroupVersionKind(identityKind())
	identity.SetName("everybody")
	if err := w.kube.Create(t.Context(), identity); err != nil {
		t.Fatal(err)
	}
	for name, labels := range map[string]map[string]string{"allowed": {"team": "a"}, "stranger": {"team": "b"}} {
		if err := w.kube.Create(t.Context(), &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: name, Labels: labels}}); err != nil {
			t.Fatal(err)
		}
	}
	by := func(o *unstructured.Unstructured) {
		_ = unstructured.SetNestedMap(o.Object, map[string]any{"type": identityOfCluster, "name": "everybody", "cloudName": "openstack"}, "spec", "identityRef")
	}
	allowed, stranger := w.cluster("allowed", "one", by), w.cluster("stranger", "two", by)
	mine, theirs := allowed.volume(nil), stranger.volume(nil)
	allowed.delete()
	stranger.delete()
	allowed.settle()
	absent(t, "volume", w.getVolume(mine))
	stranger.held(ReasonCredentialMissing, "does not allow namespace stranger")
	present(t, "volume of one that may not", w.getVolume(theirs))
	present(t, "the shared Secret", w.kube.Get(t.Context(), client.ObjectKey{Namespace: "capo-system", Name: "shared"}, &corev1.Secret{}))
}

func TestSecretsThatAreNotCAPOs(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		data map[string][]byte
		want string
	}{
		"no clouds.yaml": {map[string][]byte{"password": []byte("hunter2")}, "no key clouds.yaml"},
		"no YAML":        {map[string][]byte{cloudsKey: []byte("clouds: {openstack: {auth: {password: hunter2")}, "not a valid clouds.yaml"},
		"another cloud":  {map[string][]byte{cloudsKey: []byte("clouds: {other: {auth: {password: hunter2}}}")}, `no cloud "openstack"`},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			_, err := newCredential(&corev1.Secret{Data: test.data}, identityRef{cloud: "openstack"})
			if err == nil || !strings.Contains(err.Error(), test.want) || strings.Contains(err.Error(), "hunter2") {
				t.Errorf("error %v, want %q", err, test.want)
			}
		})
	}
	if !errors.Is(missing("x"), errNoCredential) {
		t.Error("a missing credential is not recognised")
	}
}
