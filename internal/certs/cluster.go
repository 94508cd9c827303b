package certs

import (
	"context"
	"crypto/x509"
	"errors"
	"fmt"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/client-go/tools/clientcmd"

	"github.com/slipway-sh/slipway/internal/cause"
	"github.com/slipway-sh/slipway/internal/clusterapi"
	"github.com/slipway-sh/slipway/internal/clusterapi/within"
	"github.com/slipway-sh/slipway/internal/kube"
)

// atOnce bounds the clusters that are asked at the same time.
const atOnce = 32

// Clusters lists the certificates of the clusters whose objects are on a Kubernetes with
// Cluster API. way leads to them; nil asks none of them for what it serves.
func Clusters(ctx context.Context, on *kube.Cluster, way within.Way) (Listing, error) {
	all, err := clusterapi.ReadAll(ctx, on.Dynamic, metav1.NamespaceAll)
	if err != nil {
		return Listing{}, err
	}
	var (
		found Listing
		mu    sync.Mutex
	)
	forEach(all.Reports(nil, time.Now()), func(r clusterapi.Report) {
		own := cluster{on: on, way: way, namespace: r.Namespace, name: r.Name, objects: all.Scene(r.Namespace, r.Name)}.list(ctx)
		mu.Lock()
		defer mu.Unlock()
		found.Add(own)
	})
	return found, nil
}

// forEach looks at all clusters, several at a time.
func forEach(all []clusterapi.Report, look func(clusterapi.Report)) {
	var group errgroup.Group
	group.SetLimit(atOnce)
	for _, r := range all {
		group.Go(func() error { look(r); return nil })
	}
	_ = group.Wait() // there are no errors
}

type cluster struct {
	on              *kube.Cluster
	way             within.Way
	namespace, name string
	objects         cause.Objects
}

func (c cluster) list(ctx context.Context) Listing {
	var l Listing
	c.machines(&l)
	for _, authority := range []struct{ suffix, use string }{{"-ca", "cluster"}, {"-etcd", "etcd"}, {"-proxy", "aggregated APIs"}} {
		c.authority(ctx, &l, c.name+authority.suffix, authority.use)
	}
	c.kubeconfig(ctx, &l)
	c.served(ctx, &l)
	return l
}

func (c cluster) certificate(use, object string, ends time.Time, by string, at time.Time) Certificate {
	return Certificate{Cluster: c.name, Namespace: c.namespace, Use: use, Object: object, Ends: ends.UTC(), RenewedBy: by, RenewsAt: at}
}

// machines are the control plane's: kubeadm makes the certificates of the API server, etcd
// and their clients for a machine in one go, for one time. Cluster API asks each API server
// for its own, and writes the end on the Machine.
func (c cluster) machines(l *Listing) {
	days := c.rolloutDays()
	for _, object := range c.objects["Machine"] {
		if _, plane := object.GetLabels()["cluster.x-k8s.io/control-plane"]; !plane {
			continue
		}
		text, _, _ := unstructured.NestedString(object.Object, "status", "certificatesExpiryDate")
		ends, err := time.Parse(time.RFC3339, text)
		if err != nil {
			if phase, _, _ := unstructured.NestedString(object.Object, "status", "phase"); phase == "Running" {
				l.miss("Machine "+c.namespace+"/"+object.GetName(), errors.New("Cluster API has not read the end of its certificates yet"))
			}
			continue
		}
		by, at := ByNobody, time.Time{}
		if days > 0 {
			by, at = ByRollout, ends.AddDate(0, 0, -int(days)).UTC()
		}
		l.Certificates = append(l.Certificates, c.certificate(UseMachine, "Machine "+object.GetName(), ends, by, at))
	}
}

// rolloutDays is how many days before the end Cluster API replaces a machine; 0 is never.
func (c cluster) rolloutDays() (days int64) {
	for _, plane := range c.objects["KubeadmControlPlane"] {
		days, _, _ = unstructured.NestedInt64(plane.Object, "spec", "rollout", "before", "certificatesExpiryDays")
	}
	return days
}

// secret reads a Secret of the cluster, nil if there is none.
func (c cluster) secret(ctx context.Context, l *Listing, name string) *corev1.Secret {
	secret, err := c.on.Typed.CoreV1().Secrets(c.namespace).Get(ctx, name, metav1.GetOptions{})
	if apierrors.IsNotFound(err) {
		return nil
	}
	if err != nil {
		l.miss("Secret "+c.namespace+"/"+name, err)
		return nil
	}
	return secret
}

func (c cluster) authority(ctx context.Context, l *Listing, name, of string) {
	secret := c.secret(ctx, l, name)
	if secret == nil {
		return
	}
	found, err := leaf(secret.Data[corev1.TLSCertKey])
	if err != nil {
		l.miss("Secret "+c.namespace+"/"+name, err)
		return
	}
	l.Certificates = append(l.Certificates, c.certificate(UseAuthority, "Secret "+name+" ("+of+")", found.NotAfter, ByNobody, time.Time{}))
}

// kubeconfig is the administrator's. The controller of the control plane renews the one
// that it made itself when half of its life is over.
func (c cluster) kubeconfig(ctx context.Context, l *Listing) {
	name := c.name + "-kubeconfig"
	secret := c.secret(ctx, l, name)
	if secret == nil {
		return
	}
	found, err := clientOf(secret.Data["value"])
	if err != nil {
		l.miss("Secret "+c.namespace+"/"+name, err)
		return
	}
	if found == nil {
		return
	}
	by, at := ByNobody, time.Time{}
	for _, owner := range secret.OwnerReferences {
		if owner.Kind == "KubeadmControlPlane" {
			by, at = ByClusterAPI, halfway(found)
		}
	}
	l.Certificates = append(l.Certificates, c.certificate(UseKubeconfig, "Secret "+name, found.NotAfter, by, at))
}

// served is what the API server shows at the cluster's address now, whatever others say.
func (c cluster) served(ctx context.Context, l *Listing) {
	if c.way == nil || !cause.Answers(c.objects) {
		return
	}
	config, _, err := c.way(ctx, c.namespace, c.name)
	if apierrors.IsNotFound(err) {
		return
	}
	if err == nil {
		var ends time.Time
		if ends, err = shown(ctx, config); err == nil {
			by := ByNobody
			if c.rolloutDays() > 0 {
				by = ByRollout
			}
			l.Certificates = append(l.Certificates, c.certificate(UseServed, address(config), ends, by, time.Time{}))
			return
		}
	}
	l.miss("API server of "+c.namespace+"/"+c.name, err)
}

// clientOf returns the client certificate of a kubeconfig; nil if it has none.
func clientOf(text []byte) (*x509.Certificate, error) {
	file, err := clientcmd.Load(text)
	if err != nil {
		return nil, errors.New("it is no kubeconfig") // the library's error could quote it
	}
	current := file.Contexts[file.CurrentContext]
	if current == nil || file.AuthInfos[current.AuthInfo] == nil {
		return nil, errors.New("the kubeconfig has no current user")
	}
	data := file.AuthInfos[current.AuthInfo].ClientCertificateData
	if len(data) == 0 {
		return nil, nil
	}
	found, err := leaf(data)
	if err != nil {
		return nil, fmt.Errorf("the client certificate of the kubeconfig: %w", err)
	}
	return found, nil
}
