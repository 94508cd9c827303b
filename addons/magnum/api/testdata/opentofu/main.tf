terraform {
  required_providers {
    openstack = { source = "terraform-provider-openstack/openstack" }
  }
}

variable "template" { default = "k8s-v1-34" }
variable "nodes" { default = 2 }

resource "openstack_containerinfra_clustertemplate_v1" "k8s" {
  for_each            = { "k8s-v1-34" = "ubuntu-1.34", "k8s-v1-35" = "ubuntu-1.35" }
  name                = each.key
  coe                 = "kubernetes"
  image               = each.value
  flavor              = "m1.large"
  master_flavor       = "m1.medium"
  external_network_id = "public"
  dns_nameserver      = "9.9.9.9"
  network_driver      = "calico"
  master_lb_enabled   = true
  floating_ip_enabled = false
  labels = {
    auto_healing_enabled = "true"
    availability_zone    = "nova"
  }
}

resource "openstack_containerinfra_cluster_v1" "shop" {
  name                = "shop"
  cluster_template_id = openstack_containerinfra_clustertemplate_v1.k8s[var.template].id
  keypair             = "ops"
  master_count        = 1
  node_count          = var.nodes
  create_timeout      = 40
}

# A label that the template has, changed, and one that it does not have.
resource "openstack_containerinfra_cluster_v1" "merged" {
  name                = "merged"
  cluster_template_id = openstack_containerinfra_clustertemplate_v1.k8s["k8s-v1-34"].id
  keypair             = "ops"
  node_count          = 1
  merge_labels        = true
  labels = {
    auto_healing_enabled = "false"
    kube_tag             = "v1.34.2"
  }
}

resource "openstack_containerinfra_nodegroup_v1" "gpu" {
  name           = "gpu"
  cluster_id     = openstack_containerinfra_cluster_v1.shop.id
  node_count     = var.nodes
  min_node_count = 1
  max_node_count = 5
  flavor_id      = "m1.large"
  merge_labels   = true
  labels         = { boot_volume_size = "15" }
}

output "host" {
  value     = openstack_containerinfra_cluster_v1.shop.kubeconfig.host
  sensitive = true
}
