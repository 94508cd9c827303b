// Package openstackapi is what Slipway's REST APIs beside OpenStack's have in common: who
// calls, addresses behind proxies, bodies, failures of Kubernetes and Keystone, the audit
// log and the metric of requests. How an error looks is each API's own.
package openstackapi
