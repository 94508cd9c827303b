// Package look asks the cloud on behalf of the engine of causes: one list per kind for a
// whole project, however many clusters it has, and details only of what is sick.
package look

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/url"
	"time"

	"github.com/slipway-sh/slipway/internal/cause"
	"github.com/slipway-sh/slipway/internal/cloud"
)

// patience bounds one look at a cloud.
const patience = 20 * time.Second

var errPatience = fmt.Errorf("the cloud did not answer within %s", patience)

// consoleLines is how much of a console is read: the kubelet logs more lines after
// kubeadm's.
const consoleLines = 1000

// Take reads the project of a login. What cannot be read is in Missing.
func Take(ctx context.Context, c *cloud.Cloud) (*cause.Cloud, error) {
	ctx, cancel := context.WithTimeoutCause(ctx, patience, errPatience)
	defer cancel()
	at := time.Now()
	s, err := c.Diagnosis(ctx)
	if err != nil {
		return nil, err
	}
	taken := From(s)
	taken.At = at
	return taken.Indexed(), nil
}

// Refusal is a failed login as the engine reads it.
func Refusal(err error) *cause.Refusal {
	r := &cause.Refusal{Words: err.Error()}
	var answer *cloud.Error
	if errors.As(err, &answer) {
		r.Status = answer.Status
	}
	r.Malformed = r.Status == 0 && !ofNetwork(err)
	return r
}

// ofNetwork reports whether an error is of a call that had no answer.
func ofNetwork(err error) bool {
	return errors.As(err, new(*url.Error)) || errors.As(err, new(net.Error)) || errors.Is(err, context.DeadlineExceeded) || errors.Is(err, errPatience)
}

// From turns a snapshot into what the engine reads.
func From(s *cloud.Snapshot) *cause.Cloud {
	c := &cause.Cloud{Project: s.Token.ProjectID}
	for _, m := range s.Missing {
		for _, list := range lists(m) {
			c.Missing = append(c.Missing, cause.Unseen{What: list, Why: m.Cause})
		}
	}
	for _, v := range s.Servers {
		c.Servers = append(c.Servers, cause.Server{ID: v.ID, Name: v.Name, Status: v.Status, Task: v.Task, Fault: v.Fault, FaultAt: v.FaultAt, Created: v.Created, Updated: v.Updated})
	}
	for _, b := range s.Balancers {
		c.Balancers = append(c.Balancers, cause.Balancer{ID: b.ID, Name: b.Name, Provisioning: b.Provisioning, Operating: b.Operating, Disabled: b.Disabled, Created: b.Created, Updated: b.Updated})
	}
	for _, p := range s.Ports {
		c.Ports = append(c.Ports, cause.Port{ID: p.ID, Name: p.Name, Status: p.Status, Device: p.DeviceID, Up: p.Up})
	}
	for _, v := range s.Volumes {
		c.Volumes = append(c.Volumes, cause.Volume{ID: v.ID, Name: v.Name, Status: v.Status, Server: v.ServerID, Updated: v.Updated})
	}
	for _, i := range s.Images {
		c.Images = append(c.Images, cause.Image{ID: i.ID, Name: i.Name, Status: i.Status})
	}
	for _, n := range s.Networks {
		c.Networks = append(c.Networks, cause.Network{ID: n.ID, Name: n.Name, MTU: n.MTU})
	}
	for _, r := range s.Routers {
		c.Routers = append(c.Routers, cause.Router{ID: r.ID, Name: r.Name, Gateway: r.ExternalNetworkID})
	}
	for _, g := range s.SecurityGroups {
		group := cause.SecurityGroup{ID: g.ID, Name: g.Name}
		for _, r := range g.Ingress {
			group.Ingress = append(group.Ingress, cause.PortRange{From: r[0], To: r[1]})
		}
		c.SecurityGroups = append(c.SecurityGroups, group)
	}
	for _, q := range s.Quotas {
		c.Quotas = append(c.Quotas, cause.Quota{Resource: q.Resource, Limit: q.Limit, Used: q.Used})
	}
	for _, f := range s.FloatingIPs {
		c.FloatingIPs = append(c.FloatingIPs, cause.FloatingIP{ID: f.ID, Address: f.Address, Port: f.PortID})
	}
	for _, f := range s.Flavors {
		c.Flavors = append(c.Flavors, cause.Named{ID: f.ID, Name: f.Name})
	}
	for _, k := range s.KeyPairs {
		c.KeyPairs = append(c.KeyPairs, k.Name)
	}
	return c
}

// lists are the lists that a failed call leaves empty: all of a service that is not there.
func lists(m cloud.Missing) []string {
	if !m.Absent {
		return []string{m.What}
	}
	return map[cloud.Service][]string{
		cloud.Compute: {cause.ListServers, cause.ListFlavors, cause.ListKeyPairs}, cloud.Volume: {cause.ListVolumes}, cloud.Image: {cause.ListImages},
		cloud.LoadBalancer: {cause.ListBalancers}, cloud.Network: {cause.ListNetworks, cause.ListPorts, cause.ListRouters, cause.ListSecurityGroups, cause.ListFloatingIPs},
	}[m.Service]
}
