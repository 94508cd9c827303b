OPENSTACK_KEYSTONE_URL = "http://{{.Address}}:5000/v3"
ALLOWED_HOSTS = ["*"]
