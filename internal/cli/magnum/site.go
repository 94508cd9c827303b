package magnum

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"path/filepath"

	"github.com/gophercloud/gophercloud/v2"
	"github.com/gophercloud/gophercloud/v2/openstack/identity/v3/projects"
	helmrelease "helm.sh/helm/v3/pkg/release"
	"k8s.io/apimachinery/pkg/runtime"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/slipway-sh/slipway/addons/magnum/driver"
	"github.com/slipway-sh/slipway/addons/magnum/moving"
	"github.com/slipway-sh/slipway/addons/magnum/moving/certstore"
	"github.com/slipway-sh/slipway/addons/magnum/moving/database"
	"github.com/slipway-sh/slipway/addons/magnum/v1alpha1"
	"github.com/slipway-sh/slipway/internal/cli/environment"
	"github.com/slipway-sh/slipway/internal/cloud"
	"github.com/slipway-sh/slipway/internal/fault"
	"github.com/slipway-sh/slipway/internal/helm"
)

// site opens the management cluster and the cloud, nil if none is named. The caller
// closes the cloud.
func (o *options) site(ctx context.Context, settings database.Settings) (moving.Site, *cloud.Cloud, error) {
	site, err := o.management()
	if err != nil || o.cloud == "" {
		if err == nil {
			site.Store, err = o.store(settings, nil)
		}
		return site, nil, err
	}
	admin, err := cloud.Open(ctx, cloud.Options{Cloud: o.cloud, Env: environment.System(), UserAgent: environment.UserAgent()})
	if err != nil {
		return site, nil, err
	}
	identity, err := admin.Identity()
	if err != nil {
		return site, admin, err
	}
	site.Projects = keystone{identity}
	site.Store, err = o.store(settings, admin)
	return site, admin, err
}

// management opens the management cluster.
func (o *options) management() (moving.Site, error) {
	config, err := o.config()
	if err != nil {
		return moving.Site{}, err
	}
	scheme := runtime.NewScheme()
	if err := errors.Join(clientgoscheme.AddToScheme(scheme), v1alpha1.AddToScheme(scheme)); err != nil {
		return moving.Site{}, err
	}
	c, err := client.New(config, client.Options{Scheme: scheme})
	if err != nil {
		return moving.Site{}, fault.New("management cluster", err, "check the kubeconfig and that the API server answers")
	}
	return moving.Site{Client: c, Releases: releases{config}, Defaults: driver.Defaults{Labels: o.labels}}, nil
}

func (o *options) config() (*rest.Config, error) {
	rules := clientcmd.NewDefaultClientConfigLoadingRules()
	rules.ExplicitPath = o.kubeconfig
	config, err := clientcmd.NewNonInteractiveDeferredLoadingClientConfig(rules, nil).ClientConfig()
	if err != nil {
		return nil, fault.Usage("--kubeconfig", err, "name the kubeconfig of the management cluster that Magnum's clusters are on")
	}
	config.QPS = -1 // the API server has its own limits
	config.UserAgent = environment.UserAgent()
	return config, nil
}

// store is the certificate store that the flag names, else magnum.conf; nil is the
// database.
func (o *options) store(settings database.Settings, admin *cloud.Cloud) (moving.Store, error) {
	name := o.certificates
	if name == "" {
		name = settings.CertificateStore
	}
	switch name {
	case "", "x509keypair":
		return nil, nil
	case "local":
		folder := settings.StoragePath
		if folder == "" {
			folder = "/var/lib/magnum/certificates"
		}
		return certstore.Folder(folder), nil
	case "barbican":
		if admin == nil {
			return nil, fault.Usage("--cloud", errors.New("it is required to read certificates from Barbican"), "name an administrator's entry of clouds.yaml, or --certificates x509keypair")
		}
		barbican, err := admin.KeyManager()
		if err != nil {
			return nil, err
		}
		return certstore.Barbican{Client: barbican}, nil
	}
	if !filepath.IsAbs(name) {
		return nil, fault.Usage("--certificates", fmt.Errorf("%q is no certificate store", name), "use x509keypair, barbican, or the absolute path of a folder")
	}
	return certstore.Folder(name), nil
}

// releases are Helm's on the management cluster.
type releases struct{ config *rest.Config }

// Last is the latest revision of a release.
func (r releases) Last(_ context.Context, namespace, name string) (*helmrelease.Release, error) {
	c, err := helm.New(r.config, namespace, slog.New(slog.DiscardHandler))
	if err != nil {
		return nil, err
	}
	return c.Last(name)
}

// keystone says which projects there are.
type keystone struct{ client *gophercloud.ServiceClient }

// ProjectExists asks for one project.
func (k keystone) ProjectExists(ctx context.Context, id string) (bool, error) {
	_, err := projects.Get(ctx, k.client, id).Extract()
	if gophercloud.ResponseCodeIs(err, http.StatusNotFound) {
		return false, nil
	}
	return err == nil, err
}
