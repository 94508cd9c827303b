// Package onboard uploads packages to OpenStack Tacker, by its API of VNF packages.
package onboard

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"slices"
	"time"

	"github.com/gophercloud/gophercloud/v2"
)

// Store is Tacker's store of packages.
type Store struct {
	// Client is of the service nfv-orchestration, without a version in its endpoint.
	Client *gophercloud.ServiceClient
	// Pause is the time between two looks at a package that Tacker reads.
	Pause time.Duration
}

// vnfPackage is a package as Tacker shows it (SOL005, 9.5.2.5).
type vnfPackage struct {
	ID         string `json:"id"`
	VNFDID     string `json:"vnfdId"`
	Onboarding string `json:"onboardingState"`
	Operation  string `json:"operationalState"`
}

func (s Store) url(parts ...string) string {
	return s.Client.ServiceURL(append([]string{"vnfpkgm", "v1", "vnf_packages"}, parts...)...)
}

// Ensure has Tacker offer the package with this vnfdId, and reports whether it was uploaded.
// The vnfdId changes with the content, so one that is there is the same.
func (s Store) Ensure(ctx context.Context, vnfdID string, content []byte) (uploaded bool, err error) {
	found, err := s.list(ctx)
	if err != nil {
		return false, err
	}
	for _, p := range found {
		if p.VNFDID == vnfdID && p.Onboarding == "ONBOARDED" {
			return false, s.enable(ctx, p)
		}
	}
	var p vnfPackage
	body := map[string]any{"userDefinedData": map[string]any{"slipwayVnfdId": vnfdID}}
	if _, err := s.Client.Post(ctx, s.url(), body, &p, &gophercloud.RequestOpts{OkCodes: []int{http.StatusCreated}}); err != nil {
		return false, fmt.Errorf("creating package %s: %w", vnfdID, err)
	}
	if err := s.fill(ctx, p.ID, content); err != nil {
		// One without content is of no use, and the next run makes another. The error above says more.
		_, _ = s.Client.Delete(context.WithoutCancel(ctx), s.url(p.ID), nil)
		return false, err
	}
	return true, s.enable(ctx, p)
}

// Remove deletes the packages with these vnfdIds, and those that are gone already are no
// error. Tacker deletes none that is enabled, and none that instances were made of.
func (s Store) Remove(ctx context.Context, vnfdIDs []string) error {
	found, err := s.list(ctx)
	if err != nil {
		return err
	}
	for _, p := range found {
		if !slices.Contains(vnfdIDs, p.VNFDID) {
			continue
		}
		if p.Operation == "ENABLED" {
			if err := s.operate(ctx, p.ID, "DISABLED"); err != nil {
				return fmt.Errorf("disabling package %s: %w", p.VNFDID, err)
			}
		}
		if _, err := s.Client.Delete(ctx, s.url(p.ID), nil); err != nil && !gophercloud.ResponseCodeIs(err, http.StatusNotFound) {
			return fmt.Errorf("deleting package %s: %w", p.VNFDID, err)
		}
	}
	return nil
}

func (s Store) operate(ctx context.Context, id, state string) error {
	_, err := s.Client.Patch(ctx, s.url(id), map[string]any{"operationalState": state}, nil, &gophercloud.RequestOpts{OkCodes: []int{http.StatusOK}})
	return err
}

// list reads both forms that Tacker has had: a list, and one under a name. Without the query
// a list ends after a hundred packages.
func (s Store) list(ctx context.Context) ([]vnfPackage, error) {
	var text json.RawMessage
	if _, err := s.Client.Get(ctx, s.url()+"?all_records=yes", &text, nil); err != nil {
		return nil, fmt.Errorf("listing packages: %w", err)
	}
	var list []vnfPackage
	if json.Unmarshal(text, &list) == nil {
		return list, nil
	}
	var named struct {
		Packages []vnfPackage `json:"vnf_packages"`
	}
	if err := json.Unmarshal(text, &named); err != nil {
		return nil, fmt.Errorf("reading the list of packages: %w", err)
	}
	return named.Packages, nil
}

// fill uploads the content, and waits until Tacker has read it: it does that later, and puts
// a package that it refuses back to CREATED.
func (s Store) fill(ctx context.Context, id string, content []byte) error {
	response, err := s.Client.Request(ctx, http.MethodPut, s.url(id, "package_content"), &gophercloud.RequestOpts{RawBody: bytes.NewReader(content),
		MoreHeaders: map[string]string{"Content-Type": "application/zip"}, OkCodes: []int{http.StatusAccepted}, KeepResponseBody: true})
	if err != nil {
		return fmt.Errorf("uploading package %s: %w", id, err)
	}
	_, _ = io.Copy(io.Discard, response.Body) // the answer is empty
	_ = response.Body.Close()
	for {
		var p vnfPackage
		if _, err := s.Client.Get(ctx, s.url(id), &p, nil); err != nil {
			return fmt.Errorf("reading package %s: %w", id, err)
		}
		switch p.Onboarding {
		case "ONBOARDED":
			return nil
		case "CREATED":
			return fmt.Errorf("package %s: Tacker refused the content; its conductor's log says why", id)
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("waiting until Tacker has read package %s: it is %s: %w", id, p.Onboarding, context.Cause(ctx))
		case <-time.After(s.Pause):
		}
	}
}

func (s Store) enable(ctx context.Context, p vnfPackage) error {
	if p.Operation == "ENABLED" {
		return nil
	}
	var now vnfPackage
	if _, err := s.Client.Get(ctx, s.url(p.ID), &now, nil); err != nil {
		return fmt.Errorf("reading package %s: %w", p.ID, err)
	}
	if now.Operation == "ENABLED" { // Tacker does that by itself when it has read a package
		return nil
	}
	if err := s.operate(ctx, p.ID, "ENABLED"); err != nil {
		return fmt.Errorf("enabling package %s: %w", p.ID, err)
	}
	return nil
}
