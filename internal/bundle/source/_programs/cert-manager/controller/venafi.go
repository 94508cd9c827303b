package main

import (
	"context"
	"errors"

	apiutil "github.com/cert-manager/cert-manager/pkg/api/util"
	cmapi "github.com/cert-manager/cert-manager/pkg/apis/certmanager/v1"
	cmmeta "github.com/cert-manager/cert-manager/pkg/apis/meta/v1"
	"github.com/cert-manager/cert-manager/pkg/controller"
	"github.com/cert-manager/cert-manager/pkg/controller/certificaterequests"
	requests "github.com/cert-manager/cert-manager/pkg/controller/certificaterequests/venafi"
	"github.com/cert-manager/cert-manager/pkg/issuer"
)

// noVenafi is why these issuers do not work: Venafi's library cannot be had as a
// Go module everywhere, so upstream's code that calls it is patched out.
const noVenafi = "this build of cert-manager has no support for Venafi (CyberArk Certificate Manager)"

// refuseVenafi registers issuers of that type that say so in their status, in
// place of an error that is retried for ever and seen in the logs alone.
func refuseVenafi() {
	issuer.RegisterIssuer(apiutil.IssuerVenafi, func(*controller.Context) (issuer.Interface, error) {
		return venafi{}, nil
	})
	controller.Register(requests.CRControllerName, func(factory *controller.ContextFactory) (controller.Interface, error) {
		return controller.NewBuilder(factory, requests.CRControllerName).
			For(certificaterequests.New(apiutil.IssuerVenafi, func(*controller.Context) certificaterequests.Issuer {
				return venafi{}
			})).
			Complete()
	})
}

type venafi struct{}

// Setup makes the issuer not ready. Trying again would not help, so it is no error.
func (venafi) Setup(_ context.Context, i cmapi.GenericIssuer) error {
	apiutil.SetIssuerCondition(i, i.GetGeneration(), cmapi.IssuerConditionReady, cmmeta.ConditionFalse, "NotSupported", noVenafi)
	return nil
}

// Sign fails: an issuer that another build made ready may still be so.
func (venafi) Sign(context.Context, *cmapi.CertificateRequest, cmapi.GenericIssuer) (*issuer.IssueResponse, error) {
	return nil, errors.New(noVenafi)
}
