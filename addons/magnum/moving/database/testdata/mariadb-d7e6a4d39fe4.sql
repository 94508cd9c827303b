/*M!999999\- enable the sandbox mode */ 
-- MariaDB dump 10.20-11.8.9-MariaDB, for debian-linux-gnu (x86_64)
--
-- Host: 127.0.0.1    Database: magnum_d7e6a4d39fe4
-- ------------------------------------------------------
-- Server version	11.8.9-MariaDB-4 from Debian

/*!40101 SET @OLD_CHARACTER_SET_CLIENT=@@CHARACTER_SET_CLIENT */;
/*!40101 SET @OLD_CHARACTER_SET_RESULTS=@@CHARACTER_SET_RESULTS */;
/*!40101 SET @OLD_COLLATION_CONNECTION=@@COLLATION_CONNECTION */;
/*!40101 SET NAMES utf8mb4 */;
/*!40103 SET @OLD_TIME_ZONE=@@TIME_ZONE */;
/*!40103 SET TIME_ZONE='+00:00' */;
/*!40014 SET @OLD_UNIQUE_CHECKS=@@UNIQUE_CHECKS, UNIQUE_CHECKS=0 */;
/*!40014 SET @OLD_FOREIGN_KEY_CHECKS=@@FOREIGN_KEY_CHECKS, FOREIGN_KEY_CHECKS=0 */;
/*!40101 SET @OLD_SQL_MODE=@@SQL_MODE, SQL_MODE='NO_AUTO_VALUE_ON_ZERO' */;
/*M!100616 SET @OLD_NOTE_VERBOSITY=@@NOTE_VERBOSITY, NOTE_VERBOSITY=0 */;

--
-- Table structure for table `alembic_version`
--

DROP TABLE IF EXISTS `alembic_version`;
/*!40101 SET @saved_cs_client     = @@character_set_client */;
/*!40101 SET character_set_client = utf8mb4 */;
CREATE TABLE `alembic_version` (
  `version_num` varchar(32) NOT NULL,
  PRIMARY KEY (`version_num`)
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb3 COLLATE=utf8mb3_uca1400_ai_ci;
/*!40101 SET character_set_client = @saved_cs_client */;

--
-- Dumping data for table `alembic_version`
--

SET @OLD_AUTOCOMMIT=@@AUTOCOMMIT, @@AUTOCOMMIT=0;
LOCK TABLES `alembic_version` WRITE;
/*!40000 ALTER TABLE `alembic_version` DISABLE KEYS */;
INSERT INTO `alembic_version` VALUES
('d7e6a4d39fe4');
/*!40000 ALTER TABLE `alembic_version` ENABLE KEYS */;
UNLOCK TABLES;
COMMIT;
SET AUTOCOMMIT=@OLD_AUTOCOMMIT;

--
-- Table structure for table `cluster`
--

DROP TABLE IF EXISTS `cluster`;
/*!40101 SET @saved_cs_client     = @@character_set_client */;
/*!40101 SET character_set_client = utf8mb4 */;
CREATE TABLE `cluster` (
  `created_at` datetime DEFAULT NULL,
  `updated_at` datetime DEFAULT NULL,
  `id` int(11) NOT NULL AUTO_INCREMENT,
  `uuid` varchar(36) DEFAULT NULL,
  `name` varchar(255) DEFAULT NULL,
  `cluster_template_id` varchar(255) DEFAULT NULL,
  `api_address` varchar(255) DEFAULT NULL,
  `stack_id` varchar(255) DEFAULT NULL,
  `project_id` varchar(255) DEFAULT NULL,
  `user_id` varchar(255) DEFAULT NULL,
  `status` varchar(20) DEFAULT NULL,
  `discovery_url` varchar(255) DEFAULT NULL,
  `status_reason` text DEFAULT NULL,
  `ca_cert_ref` varchar(512) DEFAULT NULL,
  `magnum_cert_ref` varchar(512) DEFAULT NULL,
  `create_timeout` int(11) DEFAULT NULL,
  `coe_version` varchar(255) DEFAULT NULL,
  `container_version` varchar(255) DEFAULT NULL,
  `keypair` varchar(255) DEFAULT NULL,
  `docker_volume_size` int(11) DEFAULT NULL,
  `labels` text DEFAULT NULL,
  `master_flavor_id` varchar(255) DEFAULT NULL,
  `flavor_id` varchar(255) DEFAULT NULL,
  `health_status` varchar(20) DEFAULT NULL,
  `health_status_reason` text DEFAULT NULL,
  `fixed_network` varchar(255) DEFAULT NULL,
  `fixed_subnet` varchar(255) DEFAULT NULL,
  `floating_ip_enabled` tinyint(1) DEFAULT NULL,
  `master_lb_enabled` tinyint(1) DEFAULT NULL,
  `etcd_ca_cert_ref` varchar(512) DEFAULT NULL,
  `front_proxy_ca_cert_ref` varchar(512) DEFAULT NULL,
  PRIMARY KEY (`id`),
  UNIQUE KEY `uniq_bay0uuid` (`uuid`)
) ENGINE=InnoDB AUTO_INCREMENT=24 DEFAULT CHARSET=utf8mb3 COLLATE=utf8mb3_uca1400_ai_ci;
/*!40101 SET character_set_client = @saved_cs_client */;

--
-- Dumping data for table `cluster`
--

SET @OLD_AUTOCOMMIT=@@AUTOCOMMIT, @@AUTOCOMMIT=0;
LOCK TABLES `cluster` WRITE;
/*!40000 ALTER TABLE `cluster` DISABLE KEYS */;
INSERT INTO `cluster` VALUES
('2026-02-03 09:01:12','2026-02-03 09:21:12',17,'6c9f3a52-5c0e-4b9f-9a5c-000000000001','shop-prod','0b7a9e0c-0d3c-4a51-8a41-000000000001','https://203.0.113.21:6443','shop-prod-k3v9x2m4q7zd','3f1d5a0b7e5c4b7d9d0d6e0b4a7f9c11','9a2b7c1d5e6f47e08f1e2d3c4b5a6978','CREATE_COMPLETE',NULL,NULL,'http://barbican/v1/containers/1','http://barbican/v1/containers/2',60,'v1.34.2',NULL,'ops',NULL,'{\"auto_healing_enabled\": \"true\", \"boot_volume_size\": \"40\", \"our_own_label\": \"it\'s \\\"kept\\\"\\\\n\\u00e9\"}','m1.medium','m1.large','HEALTHY','{\"cluster\": \"Ready\", \"infrastructure\": \"Ready\", \"controlplane\": \"Ready\", \"nodegroup\": \"Ready\"}',NULL,NULL,1,1,NULL,NULL),
('2026-02-03 09:02:12','2026-02-03 09:22:12',18,'6c9f3a52-5c0e-4b9f-9a5c-000000000002','old-heat','0b7a9e0c-0d3c-4a51-8a41-000000000002','https://203.0.113.22:6443','7e5c4b7d-9d0d-4e0b-8a7f-9c113f1d5a0b','3f1d5a0b7e5c4b7d9d0d6e0b4a7f9c11','9a2b7c1d5e6f47e08f1e2d3c4b5a6978','CREATE_COMPLETE',NULL,NULL,'5a1b1f4f-6a2f-4c10-8000-000000000001','http://barbican/v1/containers/2',60,'v1.21.11',NULL,'ops',NULL,'{\"kube_tag\": \"v1.21.11\"}','m1.medium','m1.large','HEALTHY','{\"api\": \"ok\", \"old-heat-master-0.Ready\": \"True\"}',NULL,NULL,1,1,'5a1b1f4f-6a2f-4c10-8000-000000000002','5a1b1f4f-6a2f-4c10-8000-000000000003'),
('2026-02-03 09:03:12','2026-02-03 09:23:12',19,'6c9f3a52-5c0e-4b9f-9a5c-000000000003','vex','0b7a9e0c-0d3c-4a51-8a41-000000000001','https://203.0.113.23:6443','kube-abc12','aa1d5a0b7e5c4b7d9d0d6e0b4a7f9c22','9a2b7c1d5e6f47e08f1e2d3c4b5a6978','CREATE_COMPLETE',NULL,NULL,'http://barbican/v1/containers/1','http://barbican/v1/containers/2',60,'v1.34.2',NULL,'ops',NULL,'{\"auto_healing_enabled\": \"true\", \"boot_volume_size\": \"40\", \"our_own_label\": \"it\'s \\\"kept\\\"\\\\n\\u00e9\"}','m1.medium','m1.large','HEALTHY','{\"cluster\": \"Ready\", \"infrastructure\": \"Ready\", \"controlplane\": \"Ready\", \"nodegroup\": \"Ready\"}',NULL,NULL,1,1,NULL,NULL),
('2026-02-03 09:04:12','2026-02-03 09:24:12',20,'6c9f3a52-5c0e-4b9f-9a5c-000000000004','twin','0b7a9e0c-0d3c-4a51-8a41-000000000001','https://203.0.113.24:6443','twin-aaaaaaaaaaaa','aa1d5a0b7e5c4b7d9d0d6e0b4a7f9c22','9a2b7c1d5e6f47e08f1e2d3c4b5a6978','CREATE_COMPLETE',NULL,NULL,'http://barbican/v1/containers/1','http://barbican/v1/containers/2',60,'v1.34.2',NULL,'ops',NULL,'{\"auto_healing_enabled\": \"true\", \"boot_volume_size\": \"40\", \"our_own_label\": \"it\'s \\\"kept\\\"\\\\n\\u00e9\"}','m1.medium','m1.large','HEALTHY','{\"cluster\": \"Ready\", \"infrastructure\": \"Ready\", \"controlplane\": \"Ready\", \"nodegroup\": \"Ready\"}',NULL,NULL,1,1,NULL,NULL),
('2026-02-03 09:05:12','2026-02-03 09:25:12',21,'6c9f3a52-5c0e-4b9f-9a5c-000000000005','twin','0b7a9e0c-0d3c-4a51-8a41-000000000001','https://203.0.113.25:6443','twin-bbbbbbbbbbbb','aa1d5a0b7e5c4b7d9d0d6e0b4a7f9c22','9a2b7c1d5e6f47e08f1e2d3c4b5a6978','UPDATE_IN_PROGRESS',NULL,NULL,'http://barbican/v1/containers/1','http://barbican/v1/containers/2',60,'v1.34.2',NULL,'ops',NULL,'{\"auto_healing_enabled\": \"true\", \"boot_volume_size\": \"40\", \"our_own_label\": \"it\'s \\\"kept\\\"\\\\n\\u00e9\"}','m1.medium','m1.large','HEALTHY','{\"cluster\": \"Ready\", \"infrastructure\": \"Ready\", \"controlplane\": \"Ready\", \"nodegroup\": \"Ready\"}',NULL,NULL,1,1,NULL,NULL),
('2026-02-03 09:06:12','2026-02-03 09:26:12',22,'6c9f3a52-5c0e-4b9f-9a5c-000000000006','orphan','0b7a9e0c-0d3c-4a51-8a41-000000000001','https://203.0.113.26:6443','orphan-cccccccccccc','dead5a0b7e5c4b7d9d0d6e0b4a7f9c33','9a2b7c1d5e6f47e08f1e2d3c4b5a6978','CREATE_COMPLETE',NULL,NULL,'http://barbican/v1/containers/1','http://barbican/v1/containers/2',60,'v1.34.2',NULL,'ops',NULL,'{\"auto_healing_enabled\": \"true\", \"boot_volume_size\": \"40\", \"our_own_label\": \"it\'s \\\"kept\\\"\\\\n\\u00e9\"}','m1.medium','m1.large','HEALTHY','{\"cluster\": \"Ready\", \"infrastructure\": \"Ready\", \"controlplane\": \"Ready\", \"nodegroup\": \"Ready\"}',NULL,NULL,1,1,NULL,NULL),
('2026-02-03 09:07:12',NULL,23,'6c9f3a52-5c0e-4b9f-9a5c-000000000007','half','0b7a9e0c-0d3c-4a51-8a41-000000000001',NULL,NULL,'3f1d5a0b7e5c4b7d9d0d6e0b4a7f9c11','9a2b7c1d5e6f47e08f1e2d3c4b5a6978','CREATE_FAILED',NULL,'Quota exceeded; \"cores\"\nline two	tab \\ back','http://barbican/v1/containers/1','http://barbican/v1/containers/2',60,NULL,NULL,'ops',NULL,'{\"auto_healing_enabled\": \"true\", \"boot_volume_size\": \"40\", \"our_own_label\": \"it\'s \\\"kept\\\"\\\\n\\u00e9\"}','m1.medium','m1.large',NULL,'{}',NULL,NULL,1,1,NULL,NULL);
/*!40000 ALTER TABLE `cluster` ENABLE KEYS */;
UNLOCK TABLES;
COMMIT;
SET AUTOCOMMIT=@OLD_AUTOCOMMIT;

--
-- Table structure for table `cluster_template`
--

DROP TABLE IF EXISTS `cluster_template`;
/*!40101 SET @saved_cs_client     = @@character_set_client */;
/*!40101 SET character_set_client = utf8mb4 */;
CREATE TABLE `cluster_template` (
  `created_at` datetime DEFAULT NULL,
  `updated_at` datetime DEFAULT NULL,
  `id` int(11) NOT NULL AUTO_INCREMENT,
  `uuid` varchar(36) DEFAULT NULL,
  `name` varchar(255) DEFAULT NULL,
  `flavor_id` varchar(255) DEFAULT NULL,
  `keypair_id` varchar(255) DEFAULT NULL,
  `image_id` varchar(255) DEFAULT NULL,
  `external_network_id` varchar(255) DEFAULT NULL,
  `dns_nameserver` varchar(255) DEFAULT NULL,
  `apiserver_port` int(11) DEFAULT NULL,
  `project_id` varchar(255) DEFAULT NULL,
  `user_id` varchar(255) DEFAULT NULL,
  `docker_volume_size` int(11) DEFAULT NULL,
  `fixed_network` varchar(255) DEFAULT NULL,
  `master_flavor_id` varchar(255) DEFAULT NULL,
  `cluster_distro` varchar(255) DEFAULT NULL,
  `coe` varchar(255) DEFAULT NULL,
  `http_proxy` varchar(255) DEFAULT NULL,
  `https_proxy` varchar(255) DEFAULT NULL,
  `no_proxy` varchar(255) DEFAULT NULL,
  `registry_enabled` tinyint(1) DEFAULT NULL,
  `network_driver` varchar(255) DEFAULT NULL,
  `labels` text DEFAULT NULL,
  `tls_disabled` tinyint(1) DEFAULT NULL,
  `public` tinyint(1) DEFAULT NULL,
  `server_type` varchar(255) DEFAULT 'vm',
  `volume_driver` varchar(255) DEFAULT NULL,
  `insecure_registry` varchar(255) DEFAULT NULL,
  `docker_storage_driver` varchar(512) DEFAULT NULL,
  `master_lb_enabled` tinyint(1) DEFAULT NULL,
  `fixed_subnet` varchar(255) DEFAULT NULL,
  `floating_ip_enabled` tinyint(1) DEFAULT NULL,
  `hidden` tinyint(1) DEFAULT NULL,
  `tags` varchar(255) DEFAULT NULL,
  `driver` varchar(255) DEFAULT NULL,
  PRIMARY KEY (`id`),
  UNIQUE KEY `uniq_baymodel0uuid` (`uuid`)
) ENGINE=InnoDB AUTO_INCREMENT=20 DEFAULT CHARSET=utf8mb3 COLLATE=utf8mb3_uca1400_ai_ci;
/*!40101 SET character_set_client = @saved_cs_client */;

--
-- Dumping data for table `cluster_template`
--

SET @OLD_AUTOCOMMIT=@@AUTOCOMMIT, @@AUTOCOMMIT=0;
LOCK TABLES `cluster_template` WRITE;
/*!40000 ALTER TABLE `cluster_template` DISABLE KEYS */;
INSERT INTO `cluster_template` VALUES
('2026-02-03 09:00:12',NULL,17,'0b7a9e0c-0d3c-4a51-8a41-000000000001','k8s-1-34','m1.large',NULL,'ubuntu-kube-v1.34.2','public','192.0.2.53,192.0.2.54',NULL,'3f1d5a0b7e5c4b7d9d0d6e0b4a7f9c11','9a2b7c1d5e6f47e08f1e2d3c4b5a6978',NULL,NULL,'m1.medium','ubuntu','kubernetes',NULL,NULL,NULL,0,'calico','{\"auto_healing_enabled\": \"true\", \"monitoring_enabled\": \"false\"}',0,1,'vm','cinder',NULL,NULL,1,NULL,1,0,'a,b','k8s_capi_helm_v1'),
('2026-02-03 09:00:12','2026-02-03 09:05:12',18,'0b7a9e0c-0d3c-4a51-8a41-000000000002','old','m1.large',NULL,'fcos-38','public','192.0.2.53,192.0.2.54',NULL,'3f1d5a0b7e5c4b7d9d0d6e0b4a7f9c11','9a2b7c1d5e6f47e08f1e2d3c4b5a6978',NULL,NULL,'m1.medium','fedora-coreos','kubernetes',NULL,NULL,NULL,0,'flannel','{\"auto_healing_enabled\": \"true\", \"monitoring_enabled\": \"false\"}',0,0,'vm','cinder',NULL,NULL,0,NULL,1,1,NULL,'k8s_fedora_coreos_v1'),
('2026-02-03 09:00:12',NULL,19,'0b7a9e0c-0d3c-4a51-8a41-000000000003','swarm','m1.large',NULL,'ubuntu-kube-v1.34.2','public','192.0.2.53,192.0.2.54',NULL,'aa1d5a0b7e5c4b7d9d0d6e0b4a7f9c22','9a2b7c1d5e6f47e08f1e2d3c4b5a6978',NULL,NULL,'m1.medium','ubuntu','swarm',NULL,NULL,NULL,0,'calico','{\"auto_healing_enabled\": \"true\", \"monitoring_enabled\": \"false\"}',0,0,'vm','cinder',NULL,NULL,1,NULL,1,0,NULL,'k8s_capi_helm_v1');
/*!40000 ALTER TABLE `cluster_template` ENABLE KEYS */;
UNLOCK TABLES;
COMMIT;
SET AUTOCOMMIT=@OLD_AUTOCOMMIT;

--
-- Table structure for table `federation`
--

DROP TABLE IF EXISTS `federation`;
/*!40101 SET @saved_cs_client     = @@character_set_client */;
/*!40101 SET character_set_client = utf8mb4 */;
CREATE TABLE `federation` (
  `created_at` datetime DEFAULT NULL,
  `updated_at` datetime DEFAULT NULL,
  `id` int(11) NOT NULL AUTO_INCREMENT,
  `project_id` varchar(255) DEFAULT NULL,
  `uuid` varchar(36) DEFAULT NULL,
  `name` varchar(255) DEFAULT NULL,
  `hostcluster_id` varchar(255) DEFAULT NULL,
  `member_ids` text DEFAULT NULL,
  `status` varchar(20) DEFAULT NULL,
  `status_reason` text DEFAULT NULL,
  `properties` text DEFAULT NULL,
  PRIMARY KEY (`id`),
  UNIQUE KEY `uniq_federation0uuid` (`uuid`)
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb3 COLLATE=utf8mb3_uca1400_ai_ci;
/*!40101 SET character_set_client = @saved_cs_client */;

--
-- Dumping data for table `federation`
--

SET @OLD_AUTOCOMMIT=@@AUTOCOMMIT, @@AUTOCOMMIT=0;
LOCK TABLES `federation` WRITE;
/*!40000 ALTER TABLE `federation` DISABLE KEYS */;
/*!40000 ALTER TABLE `federation` ENABLE KEYS */;
UNLOCK TABLES;
COMMIT;
SET AUTOCOMMIT=@OLD_AUTOCOMMIT;

--
-- Table structure for table `magnum_service`
--

DROP TABLE IF EXISTS `magnum_service`;
/*!40101 SET @saved_cs_client     = @@character_set_client */;
/*!40101 SET character_set_client = utf8mb4 */;
CREATE TABLE `magnum_service` (
  `created_at` datetime DEFAULT NULL,
  `updated_at` datetime DEFAULT NULL,
  `id` int(11) NOT NULL AUTO_INCREMENT,
  `report_count` int(11) NOT NULL,
  `host` varchar(255) DEFAULT NULL,
  `binary` varchar(255) DEFAULT NULL,
  `disabled` tinyint(1) DEFAULT NULL,
  `disabled_reason` varchar(255) DEFAULT NULL,
  `last_seen_up` datetime DEFAULT NULL,
  `forced_down` tinyint(1) DEFAULT NULL,
  PRIMARY KEY (`id`),
  UNIQUE KEY `uniq_magnum_service0host0binary` (`host`,`binary`)
) ENGINE=InnoDB AUTO_INCREMENT=18 DEFAULT CHARSET=utf8mb3 COLLATE=utf8mb3_uca1400_ai_ci;
/*!40101 SET character_set_client = @saved_cs_client */;

--
-- Dumping data for table `magnum_service`
--

SET @OLD_AUTOCOMMIT=@@AUTOCOMMIT, @@AUTOCOMMIT=0;
LOCK TABLES `magnum_service` WRITE;
/*!40000 ALTER TABLE `magnum_service` DISABLE KEYS */;
INSERT INTO `magnum_service` VALUES
('2026-02-03 09:01:12',NULL,17,1,'m','magnum-conductor',NULL,NULL,NULL,NULL);
/*!40000 ALTER TABLE `magnum_service` ENABLE KEYS */;
UNLOCK TABLES;
COMMIT;
SET AUTOCOMMIT=@OLD_AUTOCOMMIT;

--
-- Table structure for table `nodegroup`
--

DROP TABLE IF EXISTS `nodegroup`;
/*!40101 SET @saved_cs_client     = @@character_set_client */;
/*!40101 SET character_set_client = utf8mb4 */;
CREATE TABLE `nodegroup` (
  `created_at` datetime DEFAULT NULL,
  `updated_at` datetime DEFAULT NULL,
  `id` int(11) NOT NULL AUTO_INCREMENT,
  `uuid` varchar(36) NOT NULL,
  `name` varchar(255) NOT NULL,
  `cluster_id` varchar(255) NOT NULL,
  `project_id` varchar(255) NOT NULL,
  `docker_volume_size` int(11) DEFAULT NULL,
  `labels` text DEFAULT NULL,
  `flavor_id` varchar(255) DEFAULT NULL,
  `image_id` varchar(255) DEFAULT NULL,
  `node_addresses` text DEFAULT NULL,
  `node_count` int(11) DEFAULT NULL,
  `max_node_count` int(11) DEFAULT NULL,
  `min_node_count` int(11) DEFAULT NULL,
  `role` varchar(255) DEFAULT NULL,
  `is_default` tinyint(1) DEFAULT NULL,
  `stack_id` varchar(255) DEFAULT NULL,
  `status` varchar(20) DEFAULT NULL,
  `status_reason` text DEFAULT NULL,
  `version` varchar(20) DEFAULT NULL,
  PRIMARY KEY (`id`),
  UNIQUE KEY `uniq_nodegroup0uuid` (`uuid`),
  UNIQUE KEY `uniq_nodegroup0cluster_id0name` (`cluster_id`,`name`)
) ENGINE=InnoDB AUTO_INCREMENT=32 DEFAULT CHARSET=utf8mb3 COLLATE=utf8mb3_uca1400_ai_ci;
/*!40101 SET character_set_client = @saved_cs_client */;

--
-- Dumping data for table `nodegroup`
--

SET @OLD_AUTOCOMMIT=@@AUTOCOMMIT, @@AUTOCOMMIT=0;
LOCK TABLES `nodegroup` WRITE;
/*!40000 ALTER TABLE `nodegroup` DISABLE KEYS */;
INSERT INTO `nodegroup` VALUES
('2026-02-03 09:01:12',NULL,17,'c6b1d7a4-0f0e-4a80-9d0b-000000000010','default-master','6c9f3a52-5c0e-4b9f-9a5c-000000000001','3f1d5a0b7e5c4b7d9d0d6e0b4a7f9c11',NULL,'{\"auto_healing_enabled\": \"true\", \"boot_volume_size\": \"40\", \"our_own_label\": \"it\'s \\\"kept\\\"\\\\n\\u00e9\"}','m1.medium','ubuntu-kube-v1.34.2','[]',3,NULL,0,'master',1,'shop-prod-k3v9x2m4q7zd','CREATE_COMPLETE',NULL,NULL),
('2026-02-03 09:01:12','2026-02-03 09:30:12',18,'c6b1d7a4-0f0e-4a80-9d0b-000000000011','default-worker','6c9f3a52-5c0e-4b9f-9a5c-000000000001','3f1d5a0b7e5c4b7d9d0d6e0b4a7f9c11',NULL,'{\"auto_healing_enabled\": \"true\", \"boot_volume_size\": \"40\", \"our_own_label\": \"it\'s \\\"kept\\\"\\\\n\\u00e9\"}','m1.large','ubuntu-kube-v1.34.2','[]',2,5,1,'worker',1,'shop-prod-k3v9x2m4q7zd','CREATE_COMPLETE',NULL,NULL),
('2026-02-03 09:01:12',NULL,19,'c6b1d7a4-0f0e-4a80-9d0b-000000000012','gpu_1','6c9f3a52-5c0e-4b9f-9a5c-000000000001','3f1d5a0b7e5c4b7d9d0d6e0b4a7f9c11',NULL,'{\"auto_healing_enabled\": \"true\", \"boot_volume_size\": \"40\", \"our_own_label\": \"it\'s \\\"kept\\\"\\\\n\\u00e9\"}','g1.large','ubuntu-kube-v1.34.2','[]',1,3,0,'worker',0,'shop-prod-k3v9x2m4q7zd','CREATE_COMPLETE',NULL,NULL),
('2026-02-03 09:02:12',NULL,20,'c6b1d7a4-0f0e-4a80-9d0b-000000000020','default-master','6c9f3a52-5c0e-4b9f-9a5c-000000000002','3f1d5a0b7e5c4b7d9d0d6e0b4a7f9c11',NULL,'{\"kube_tag\": \"v1.21.11\"}','m1.medium','ubuntu-kube-v1.34.2','[]',1,NULL,0,'master',1,'7e5c4b7d-9d0d-4e0b-8a7f-9c113f1d5a0b','CREATE_COMPLETE',NULL,NULL),
('2026-02-03 09:02:12',NULL,21,'c6b1d7a4-0f0e-4a80-9d0b-000000000021','default-worker','6c9f3a52-5c0e-4b9f-9a5c-000000000002','3f1d5a0b7e5c4b7d9d0d6e0b4a7f9c11',NULL,'{\"kube_tag\": \"v1.21.11\"}','m1.large','ubuntu-kube-v1.34.2','[]',1,NULL,0,'worker',1,'7e5c4b7d-9d0d-4e0b-8a7f-9c113f1d5a0b','CREATE_COMPLETE',NULL,NULL),
('2026-02-03 09:03:12',NULL,22,'c6b1d7a4-0f0e-4a80-9d0b-000000000030','default-master','6c9f3a52-5c0e-4b9f-9a5c-000000000003','aa1d5a0b7e5c4b7d9d0d6e0b4a7f9c22',NULL,'{\"auto_healing_enabled\": \"true\", \"boot_volume_size\": \"40\", \"our_own_label\": \"it\'s \\\"kept\\\"\\\\n\\u00e9\"}','m1.medium','ubuntu-kube-v1.34.2','[]',1,NULL,0,'master',1,'kube-abc12','CREATE_COMPLETE',NULL,NULL),
('2026-02-03 09:03:12',NULL,23,'c6b1d7a4-0f0e-4a80-9d0b-000000000031','default-worker','6c9f3a52-5c0e-4b9f-9a5c-000000000003','aa1d5a0b7e5c4b7d9d0d6e0b4a7f9c22',NULL,'{\"auto_healing_enabled\": \"true\", \"boot_volume_size\": \"40\", \"our_own_label\": \"it\'s \\\"kept\\\"\\\\n\\u00e9\"}','m1.large','ubuntu-kube-v1.34.2','[]',1,NULL,0,'worker',1,'kube-abc12','CREATE_COMPLETE',NULL,NULL),
('2026-02-03 09:04:12',NULL,24,'c6b1d7a4-0f0e-4a80-9d0b-000000000040','default-master','6c9f3a52-5c0e-4b9f-9a5c-000000000004','aa1d5a0b7e5c4b7d9d0d6e0b4a7f9c22',NULL,'{\"auto_healing_enabled\": \"true\", \"boot_volume_size\": \"40\", \"our_own_label\": \"it\'s \\\"kept\\\"\\\\n\\u00e9\"}','m1.medium','ubuntu-kube-v1.34.2','[]',1,NULL,0,'master',1,'twin-aaaaaaaaaaaa','CREATE_COMPLETE',NULL,NULL),
('2026-02-03 09:04:12',NULL,25,'c6b1d7a4-0f0e-4a80-9d0b-000000000041','default-worker','6c9f3a52-5c0e-4b9f-9a5c-000000000004','aa1d5a0b7e5c4b7d9d0d6e0b4a7f9c22',NULL,'{\"auto_healing_enabled\": \"true\", \"boot_volume_size\": \"40\", \"our_own_label\": \"it\'s \\\"kept\\\"\\\\n\\u00e9\"}','m1.large','ubuntu-kube-v1.34.2','[]',1,NULL,0,'worker',1,'twin-aaaaaaaaaaaa','CREATE_COMPLETE',NULL,NULL),
('2026-02-03 09:05:12',NULL,26,'c6b1d7a4-0f0e-4a80-9d0b-000000000050','default-master','6c9f3a52-5c0e-4b9f-9a5c-000000000005','aa1d5a0b7e5c4b7d9d0d6e0b4a7f9c22',NULL,'{\"auto_healing_enabled\": \"true\", \"boot_volume_size\": \"40\", \"our_own_label\": \"it\'s \\\"kept\\\"\\\\n\\u00e9\"}','m1.medium','ubuntu-kube-v1.34.2','[]',1,NULL,0,'master',1,'twin-bbbbbbbbbbbb','UPDATE_IN_PROGRESS',NULL,NULL),
('2026-02-03 09:05:12',NULL,27,'c6b1d7a4-0f0e-4a80-9d0b-000000000051','default-worker','6c9f3a52-5c0e-4b9f-9a5c-000000000005','aa1d5a0b7e5c4b7d9d0d6e0b4a7f9c22',NULL,'{\"auto_healing_enabled\": \"true\", \"boot_volume_size\": \"40\", \"our_own_label\": \"it\'s \\\"kept\\\"\\\\n\\u00e9\"}','m1.large','ubuntu-kube-v1.34.2','[]',1,NULL,0,'worker',1,'twin-bbbbbbbbbbbb','UPDATE_IN_PROGRESS',NULL,NULL),
('2026-02-03 09:06:12',NULL,28,'c6b1d7a4-0f0e-4a80-9d0b-000000000060','default-master','6c9f3a52-5c0e-4b9f-9a5c-000000000006','dead5a0b7e5c4b7d9d0d6e0b4a7f9c33',NULL,'{\"auto_healing_enabled\": \"true\", \"boot_volume_size\": \"40\", \"our_own_label\": \"it\'s \\\"kept\\\"\\\\n\\u00e9\"}','m1.medium','ubuntu-kube-v1.34.2','[]',1,NULL,0,'master',1,'orphan-cccccccccccc','CREATE_COMPLETE',NULL,NULL),
('2026-02-03 09:06:12',NULL,29,'c6b1d7a4-0f0e-4a80-9d0b-000000000061','default-worker','6c9f3a52-5c0e-4b9f-9a5c-000000000006','dead5a0b7e5c4b7d9d0d6e0b4a7f9c33',NULL,'{\"auto_healing_enabled\": \"true\", \"boot_volume_size\": \"40\", \"our_own_label\": \"it\'s \\\"kept\\\"\\\\n\\u00e9\"}','m1.large','ubuntu-kube-v1.34.2','[]',1,NULL,0,'worker',1,'orphan-cccccccccccc','CREATE_COMPLETE',NULL,NULL),
('2026-02-03 09:07:12',NULL,30,'c6b1d7a4-0f0e-4a80-9d0b-000000000070','default-master','6c9f3a52-5c0e-4b9f-9a5c-000000000007','3f1d5a0b7e5c4b7d9d0d6e0b4a7f9c11',NULL,'{\"auto_healing_enabled\": \"true\", \"boot_volume_size\": \"40\", \"our_own_label\": \"it\'s \\\"kept\\\"\\\\n\\u00e9\"}','m1.medium','ubuntu-kube-v1.34.2','[]',1,NULL,0,'master',1,NULL,'CREATE_FAILED',NULL,NULL),
('2026-02-03 09:07:12',NULL,31,'c6b1d7a4-0f0e-4a80-9d0b-000000000071','default-worker','6c9f3a52-5c0e-4b9f-9a5c-000000000007','3f1d5a0b7e5c4b7d9d0d6e0b4a7f9c11',NULL,'{\"auto_healing_enabled\": \"true\", \"boot_volume_size\": \"40\", \"our_own_label\": \"it\'s \\\"kept\\\"\\\\n\\u00e9\"}','m1.large','ubuntu-kube-v1.34.2','[]',1,NULL,0,'worker',1,NULL,'CREATE_FAILED',NULL,NULL);
/*!40000 ALTER TABLE `nodegroup` ENABLE KEYS */;
UNLOCK TABLES;
COMMIT;
SET AUTOCOMMIT=@OLD_AUTOCOMMIT;

--
-- Table structure for table `quotas`
--

DROP TABLE IF EXISTS `quotas`;
/*!40101 SET @saved_cs_client     = @@character_set_client */;
/*!40101 SET character_set_client = utf8mb4 */;
CREATE TABLE `quotas` (
  `id` int(11) NOT NULL AUTO_INCREMENT,
  `created_at` datetime DEFAULT NULL,
  `updated_at` datetime DEFAULT NULL,
  `project_id` varchar(255) DEFAULT NULL,
  `resource` varchar(255) DEFAULT NULL,
  `hard_limit` int(11) NOT NULL,
  PRIMARY KEY (`id`),
  UNIQUE KEY `uniq_quotas0project_id0resource` (`project_id`,`resource`)
) ENGINE=InnoDB AUTO_INCREMENT=18 DEFAULT CHARSET=utf8mb3 COLLATE=utf8mb3_uca1400_ai_ci;
/*!40101 SET character_set_client = @saved_cs_client */;

--
-- Dumping data for table `quotas`
--

SET @OLD_AUTOCOMMIT=@@AUTOCOMMIT, @@AUTOCOMMIT=0;
LOCK TABLES `quotas` WRITE;
/*!40000 ALTER TABLE `quotas` DISABLE KEYS */;
INSERT INTO `quotas` VALUES
(17,'2026-02-03 09:01:12',NULL,'3f1d5a0b7e5c4b7d9d0d6e0b4a7f9c11','Cluster',5);
/*!40000 ALTER TABLE `quotas` ENABLE KEYS */;
UNLOCK TABLES;
COMMIT;
SET AUTOCOMMIT=@OLD_AUTOCOMMIT;

--
-- Table structure for table `x509keypair`
--

DROP TABLE IF EXISTS `x509keypair`;
/*!40101 SET @saved_cs_client     = @@character_set_client */;
/*!40101 SET character_set_client = utf8mb4 */;
CREATE TABLE `x509keypair` (
  `id` int(11) NOT NULL AUTO_INCREMENT,
  `created_at` datetime DEFAULT NULL,
  `updated_at` datetime DEFAULT NULL,
  `uuid` varchar(36) DEFAULT NULL,
  `certificate` text DEFAULT NULL,
  `private_key` text DEFAULT NULL,
  `project_id` varchar(255) DEFAULT NULL,
  `user_id` varchar(255) DEFAULT NULL,
  `intermediates` text DEFAULT NULL,
  `private_key_passphrase` text DEFAULT NULL,
  PRIMARY KEY (`id`),
  UNIQUE KEY `uniq_x509keypair0uuid` (`uuid`)
) ENGINE=InnoDB AUTO_INCREMENT=20 DEFAULT CHARSET=utf8mb3 COLLATE=utf8mb3_uca1400_ai_ci;
/*!40101 SET character_set_client = @saved_cs_client */;

--
-- Dumping data for table `x509keypair`
--

SET @OLD_AUTOCOMMIT=@@AUTOCOMMIT, @@AUTOCOMMIT=0;
LOCK TABLES `x509keypair` WRITE;
/*!40000 ALTER TABLE `x509keypair` DISABLE KEYS */;
INSERT INTO `x509keypair` VALUES
(17,'2026-02-03 09:02:12',NULL,'5a1b1f4f-6a2f-4c10-8000-000000000001','-----BEGIN CERTIFICATE-----\nMIIC9jCCAd6gAwIBAgIRAIbCuMppvkXQjarb5UJ4shQwDQYJKoZIhvcNAQELBQAw\nEzERMA8GA1UEAwwIb2xkLWhlYXQwHhcNMjYxMTI0MDAyNTQzWhcNMzExMTI0MDAy\nNTQzWjATMREwDwYDVQQDDAhvbGQtaGVhdDCCASIwDQYJKoZIhvcNAQEBBQADggEP\nADCCAQoCggEBAMg8bKcMpnKNgErnKyfD3ZyK0Ycgf6w4D13vpIxQZ5yGT0PueUWQ\nIXYWPXTZ/8ZCiXb9G6d5EWDzbKVLFCW/KEO1KyEprZI1D7OcHJHjnpqAHUwd+D0M\n9spvJUdDW7FEozUno38sanWJziGRisqrwWbU1EFqjLc5UtRVvGrjSWn5g4l5ch+S\n33Qyn7rMsCx+dYvvIT3m6QFPimSwsN263RwfHQ0tnnPIk+BsvOnjxJjIOG6F0yWa\njTPp66IXn8Y6LCd8iBp11LL4pwy33F6c186A9IMzF7FOREnNxBWkjRwVsRGRSvyC\nQ5H5J05QnhwKPZqrHPZz1W4oMHH82IyZOcMCAwEAAaNFMEMwEgYDVR0TAQH/BAgw\nBgEB/wIBADAOBgNVHQ8BAf8EBAMCAgQwHQYDVR0OBBYEFFlwV0mxj//vcjj8fb9R\nphJtsqWWMA0GCSqGSIb3DQEBCwUAA4IBAQAsyK02QA/rNBmQ0Ci8k73ytXLKPuVI\nTg9s6ytDwpmQc8u50Ml1fN7nOtbT+SRiMsYaANC4IgbFuCs/U0A3wZBDlL6PQQUs\nfxPJCs7GTAO3nEOonTQequZ8EJJAh79i7SMRP+TGHjRerpxTuEG0h4SOilItEByQ\nMRJrCEPeXHFRGTM6kt+PqilTmAlaUB3Z69Nabwq6Uze9/GjcC1tAXSk1jLbcYQRA\ndBSP8kx5xOLO97KeHQ/BW905b5EEeLCkWPsS+bwz1BytbTCyR4kCcIkcVQa/oRkF\nBPq5uxTT7Y21tIwlSNipSNjEujToz82qKYGTfqf3hWlKeDD+565H0Vc+\n-----END CERTIFICATE-----','-----BEGIN ENCRYPTED PRIVATE KEY-----\nMIIFNTBfBgkqhkiG9w0BBQ0wUjAxBgkqhkiG9w0BBQwwJAQQ0QCTboZBqUEercQc\nsmdJsAICCAAwDAYIKoZIhvcNAgkFADAdBglghkgBZQMEASoEENK2naTftkQTvcGL\ngXwvBj0EggTQ68Q2gZOvPP6LAmrikUV1G5WRIOhyxTBJjzFID4otJCX/vPoTfxq6\nUZGvxMOKv0n6F350W7wA91mFuTgv1prMf+Btu5I5tTTJr22ib6S1eCwRZcFGGg0l\nLfNGdQhRyu8+68jW024jMtg73FFL+nrOE8QhsGR3oSNG4GkI65PRdXI/utjbVfiy\nvTDPP/VzMW+xMmGQkc54+zepA0BwySNOo7vKdFB+PyNu3t89UV0oFFTd3S9ideTJ\n0zMXO/kDsuEaVneU0+4dkAT2+nzgj8fE35wvYwByquP4cGufaBwH+jKGI+GIi1MI\nC7ZzZH4fgcWR4Ek1p/QIcBA18PDdHj+FgmP2IzW7nhX1NeR9SzvJCm7tXdeeIlGh\ngHbzVCGngFY9l+tcqEBes6V6DuKDHf8fNXNLYKRaQP3HwfzzLXHn9FMk373obsai\nbHdFyKZOx3wZii1JeUYrpa5h+JM3xKy9iBVWNEYIJNRdx9AkyPQbEnBC6PakqvAL\nK48AaSByWLJUr10OD187jmCuU945kLyExAPBelh3aggb6pBQX9/+yz2SVvwcm8vr\nYKV8g1npzyinYNDTVZqba8rplYoDX4sllmgm2f1JRFlVrGPS+0ltLA0ZV6h1ks+D\n8A2uQTeF+kfjCsBnXbbnEBx+fAB0m43CruFQkq422bXCfEFNPeyth/je5a3QTfxe\nlaL6ns74AwLlQB4oOrwwsWhzHXMBeK/TpQf6A2rQbzfnkWzTG+7Gkqv7k50nUl9h\ntmj7wi1dbv4gTAyawFO/vFV52su28xshMlEFustKkQy3FgHMwGzV88R0MiYKl7/X\n/iuK382VNngRQSucYis5IsTJU+rUFzemInrhNGLbhnP61FlFYw8y4EZIyqHkqYql\nGTC+pNYUVxZT2hlowqaRR9RirqYjKtyTRl9QrmGExoIlHkVAWnOPLYn0cMTn9LLh\nzN0fbQaDeLVpJzaw/V3I+rrs9c1xGJfXW1bN8pEJSv0nERFJe2pMJMKPr4MCe0vd\nGlJsdVWfGkoRh3sVH5bVPT3oEKit5a2ou+FiO/4nnuH8DIl57G6gfcCLdiD/SGIx\nF/Ej786EpnPpVgDRMdD/YiGGPtQ02Tti8X8qLNuqUXcstSSkzJZ2vCUukxEBnOYg\nN4JlLZ5mGsYN/Mc/iwe7rbIBUE/ZDMu2uJyIzfOEW4Z8uUzfladRZV16sLhq8imj\n0F11MkJ5tkUvOAA/mzrjcHfO1gr2xBrGzTjsPBs8U/3ECwf4HTHfZnR/SQdDXtiS\naSlfnzyeG9kLUcBsuEKAlcTQWr9lmBo1yKot9+Mj0Bxf2lMv4OlZGKmbUYDtUHIx\nLPSm4rbtI/J8ZaAhjzXqwzBrnt9USpIFWV4HVA/b2PZ2//DfBM1EU5NTYzv8LARJ\n+GXWdMKsiWjOedaBbYSl07iw7CdBVRhAuj4/vMdtVNkcl2bubZXVvtMiqkrSWg+n\nPGSMnvwBgTlavc/Pr38t8o9nJ3aBhIF+CadUwYbwlwu9Bphgo638S6DqHazzukK6\nPevV/8lUuVH0LwrqM+IcV4xV7zOa4h8J+vU5lI619W9dZELIpKpEDoQCoZRChwtQ\nwt/0kVK6kWcnOfdK0gtqJB5M0Y9Y+5ASHaX4sr1aVQi/H/eEMbpwFio=\n-----END ENCRYPTED PRIVATE KEY-----\n','3f1d5a0b7e5c4b7d9d0d6e0b4a7f9c11','9a2b7c1d5e6f47e08f1e2d3c4b5a6978',NULL,'passphrase-0'),
(18,'2026-02-03 09:02:12',NULL,'5a1b1f4f-6a2f-4c10-8000-000000000002','-----BEGIN CERTIFICATE-----\nMIIC9TCCAd2gAwIBAgIQGb9CgOaRRi2B7bqZaZ1LJzANBgkqhkiG9w0BAQsFADAT\nMREwDwYDVQQDDAhvbGQtaGVhdDAeFw0yNjExMjQwMDI1NDNaFw0zMTExMjQwMDI1\nNDNaMBMxETAPBgNVBAMMCG9sZC1oZWF0MIIBIjANBgkqhkiG9w0BAQEFAAOCAQ8A\nMIIBCgKCAQEAtzt++9NYR3Dnhi85MJaQr8qH3okIBif9E0nKP3cWBa7kXaaPxQ/t\niUCsN1u1Lj+aye/Usdp6WQYVApOhmXJIJwVVi1lKcKfzJFAVAg4XjUCVmN9tu6sD\nhas2ir/58kRn6jF/aXN4kOnbRh5VDvANMavQfx15Nc7I1nX7DG0MFmqOB8s28GQz\nb+VNPvbcDU2J3OpMYwqgK0K7NDyfdGA1qDuNBRSkvVgA6a2PNPTwt6CAbthorrCI\nSpr1HSU9LV9LVfVqL+7ZgD2evbX7jCuYIw6wrqbWNy0FMJp54WWEg0ctPS9bZ44o\nmal/tjBYTdtrk7pV4zFepCP3Q1UuX40pXQIDAQABo0UwQzASBgNVHRMBAf8ECDAG\nAQH/AgEAMA4GA1UdDwEB/wQEAwICBDAdBgNVHQ4EFgQUu69Q6K2oHUVv+l8qrZcL\nwIq+WO0wDQYJKoZIhvcNAQELBQADggEBACXs51VxgdYZh3yWXABQkKMUk/rZXQ8p\n2LmGQZa851A3Yg+84ZtwRgkt3fXGBjd0w84XbwA80Zz5WqeRrHv4uk1Y2o2LoL0j\nRAb4/oPAf0o7QoZ4uTCimHpG20E0O1d3Y8RGqCFwSOXB8KXqfioctNYYYRtB87j2\nZunvYi0ag8v+QqahY2CUjWXEGXhuVjEP0481fVwgDAEoCbzzA92ZJCWXXmKtt4ev\ni2VfMoaFi0FjKHfBgArH/7OUt2GiyDDGqDOYsgMwRwLflq9KjqVU5PLKAUWGN5zn\niVpsy1ZacY4XK4uyLHuJdn9pvTaZXh8LbDt2aOD60Hdl2i3CDOc5Kms=\n-----END CERTIFICATE-----','-----BEGIN ENCRYPTED PRIVATE KEY-----\nMIIFNTBfBgkqhkiG9w0BBQ0wUjAxBgkqhkiG9w0BBQwwJAQQZzV58KBcrzpmFPl6\n/TWZDQICCAAwDAYIKoZIhvcNAgkFADAdBglghkgBZQMEASoEEIt7iNH4HTFZcbcm\ndQoVNOkEggTQoEOjQdhoJTwkaLXMHLrPaXDjA//kK8VritsUK8VRTvalwKd0MV62\nfh6/PfMoKezSAze0UP2iL31juRNRK1mndfeA6CoCUGl1fBkNmhij7CkHhorMDyO2\ngurTLVIWnk4GqITPEOu9r6ba9guqDEs02QgcYgklHK3JwW7Wu1zxt4wlqAanKoMe\nchIVNDMv+Tr2KvVBiCTKkHb/mgNgkBt2SKVHwAm1VaQhk4Jsx9iusHjO3anRrTI6\nxBctekDilpNGip4ZvTWt/sjtH8O1v7G5Aqi7OJMsFDNSsEDI7E/h2p5afBQRm3Bz\nxiMfZMbDIYRtqeY0m0kFhPFhPYWx4duj2OE+lEC1MrCTc3NxXTjlANWlWyWFBuMF\nFeF4JxliPYAp5fr9Fn+rraU3grx4KxY3B9I7wFC0vZ9/rRnHSkPA4GxxLjSv9HMm\nCKhHXGq7fLkUnimpzv3XqGnDIQs5NKqk96BnLgDwSjUR8Apam5JW0f2DBaDDP/f7\nT5Ej0BGk/sLe/cFIQ+7Ah0PN29k8MZlXUEhLBS7aA4TUsNI2drPxzgwAQyTlcfa8\nK9xfsVoO3K+zWe2BZEkz7G2MyAeTU9tXVLxOdk40b0fYGhz/DVMqlEerSYDDbD1d\n7sqD7Slt3Se2fVjdh3FBt+jEhvkW3BmZXZlaUgGy6DmQfvkGTmJPeTcZt1Qgeeph\nKXknUmLwsBKN5Emt1ubSWAZqAdtDt7GBJD/DscSD2ufNBbl+1lJOheTdFI1tZVEw\nhznv0x0rKBTaqKpbD/bhW/kGSZZuHtRHTxRuL8qKBwjMMq5OuRk0aG3X0LluX6SO\nnRlQBX12mqy4WT0UxINahj5pnB+d6Z5r+6BiX9LE6FYhzMozE9vpnNQnVO9oZxEu\nkVGpqFB0fWm8t9HemPmOgm8v4yC9UI+9OVe5mDZ0SiRU7aCV7KLt9IZQ847tP7MK\nFdEIwmkodBCbbpAug3628AzGGcZ+YRybZaawLSn6BAuDdm/85mRJTe9RkRZ7o31E\nKP8sHm5N6FLekmfSzLOqOq4KkezoAoW7VQZ2ZOsrlVBBVw9s5ucmIbSJFEP//7we\n2wbCqBa+FWyK3nnDsaSuWUA7QYNtfFc2+8VUGidVxKVFIG85otIMBz76GvV18Cwg\n464EMIJOPjHL3WJWD6tUq/8Lyiv+M5cmKWzLkhSZrv9m5t9xyS83/vOVBEJtCXS7\nD85lNW6OHAtJLGD6D+ARPk8t9lLtBJVYML/+fS3HwX+XyW7WTOur6Kh4GKvxQ2Sf\nEMq08f+pD7QLiztp+cg8c35uJUeNxgYDc45PoVT+r05SNxufaoZzygNJ8hyAng2o\nhGT1KSYEfsRXK0I+wp3ChMo6mBPA3pA67bS/QqE7Oj1bpKCfLnjxZ7vV0JBd/lSC\nkiuHXNyBWbwf/pw6MmqLdEC88i7KFy4FjdqakNVamkdkGvhZNhGu1xc0ePDm7wUq\nbWcAz8hMWpL/tZeTpLwppKKO8F1COxrC6aANaVLy7HP9ilyroE37vfAeStXd5jrb\nbzEbdYZw2QqqD+Vk4qiedkG78lK0D9i42efmIraeNaQs9i4vppY8/fFrtuxPJvNw\n7Oei7skZP64+2yPOMoIfsOytQONh4odDLZJLWdd+UiCSio6Pfj4nQ5Q=\n-----END ENCRYPTED PRIVATE KEY-----\n','3f1d5a0b7e5c4b7d9d0d6e0b4a7f9c11','9a2b7c1d5e6f47e08f1e2d3c4b5a6978',NULL,'passphrase-1'),
(19,'2026-02-03 09:02:12',NULL,'5a1b1f4f-6a2f-4c10-8000-000000000003','-----BEGIN CERTIFICATE-----\nMIIC9TCCAd2gAwIBAgIQUkVm9sIoSoyI/Jxnb4tr+jANBgkqhkiG9w0BAQsFADAT\nMREwDwYDVQQDDAhvbGQtaGVhdDAeFw0yNjExMjQwMDI1NDNaFw0zMTExMjQwMDI1\nNDNaMBMxETAPBgNVBAMMCG9sZC1oZWF0MIIBIjANBgkqhkiG9w0BAQEFAAOCAQ8A\nMIIBCgKCAQEAwF03zKSLrgLRy+s/Qxud3vdef4NGN8+VisTPBlwf6RuyuQj1bTrr\nDQq4Jooyb/l5vH5MX+XUHBKw9vucAxnTRIutcW60756Rw+phVELKK7s3DbiH+26B\nH5+lk+lM/WhPeBR1/HLJ+CsdrQIxKCFag94ts/tRO7LUTYMA9x7mJT7cx4Ef+hlr\nrJCf80DM0Rp0Yj8T42yA7vHGxGQvD534+m7qZfsI8DcYOeXpQ3EYcmkfiPNnVqsz\nZ8zhOMYkrbJo6UQzEM8SPUAIqCByelvBHV1t54ZVobh9B+QKgjwQxum8vkpnuij4\nxD3GKy0iOoxNV6qDhh8A+khzs/JZuiIXJwIDAQABo0UwQzASBgNVHRMBAf8ECDAG\nAQH/AgEAMA4GA1UdDwEB/wQEAwICBDAdBgNVHQ4EFgQUAktLcbdDa0e3hfPXErgU\n31cpve0wDQYJKoZIhvcNAQELBQADggEBAJziZeRRWuOvro81crmTP4qloOTpXOH8\ninbVLYM+XQJ8/BZpb9AwAOFeDrllm3w+8aVYS4pYrRAP3+Fowc9BN9EUzFPFLyJe\nNt46oOHIBng6GC4nxAundunwbpHR3U7fB0sXSXa6EQYWMJMNll2OutaX3l4P/Wkz\nsYXkc7ARxRy4lDCBArTjS3ZmDFEn/dFoK9V/8wyXUzI/+oPqsq8bxcmoQ9/ITuul\nh6FruOMs/ji1on8mgelIsR6y27FD3JDgGowR+QuZZS4dJ/FWAsgXLQ8m1GgFt3Bc\nd3vhXK81cYa9OBxEqAeBmFQaA5/Y0x1CTJdmRFozfri85GgphwtEB1E=\n-----END CERTIFICATE-----','-----BEGIN ENCRYPTED PRIVATE KEY-----\nMIIFNTBfBgkqhkiG9w0BBQ0wUjAxBgkqhkiG9w0BBQwwJAQQCn+omKk5Irv+D9lz\nRAtzsgICCAAwDAYIKoZIhvcNAgkFADAdBglghkgBZQMEASoEENienSaOkjEjB8h/\naeuDEjAEggTQ07T3gsNzfjk8NIT1DHrS5onAIi79nMHA6sc5AzVutQy+aKhHOEml\n6XU9gRh/nGAW7hXrqakRzRMqo/BNMNJeD0xRLV5CXN4Dxsy5R8lntSH8/LUWZBbP\nruIbtfPGI/DRqetEhqgzbV85wVp8ItKUMvCs5s7fJb3/qZ1yh2Ct81lLD3G8Qbp7\nmEyOErqp2B93cSMlor2vTpDeOwDLHe2upyuzjLvBSR4fwckBVd8SAk6U7l68g4O1\nohpT5t++ENtl6RSZlZVvkJe5Do3cM2C1WPYzKEhqmiAamAEuPDK3vX3pZ/rEE8qQ\nIB5J0Ejkg5TFn+ALmZ8fN6aGsV+OhLzVTJhtDqQvc/oLxi8H3U8Wt9L61rJCaZzL\nlysAHPSgqC559FnLSREmE+Q6OJcD0o/e9f/MNZ0+UsxN/5ScvMAbWkLzpIQsMZH2\n/V6cSME+USQ8S70gSppkE5VLQbBWAqYe8P3Xq6iAVLKNNfSwpfuUiIF14JwlxhG4\nx/eJ2Anaj8yWQaJc+HJss8YY8ZB6HjHtIA++q6bJ7ZlVNv7Q5E7HGX4LXfxxm+Gd\ntK28ttOxLCda8MwzUs0+Fa83SKmwkFgwPRDpiwUgeKe+CJM34813rbTgJVChA2Kl\nyerJJtGhHkyBDAa6zyz9ybJOy6AWZPkQ+NJar6DIsyJ3cx8MWYYh4pPl2UtJwDaY\nLjTo8xwHDk/YiCEJhGCEzPnweOr9SL2s8+EVfOq5MJUgAjCUEd7GYJA1NVFelwhT\nhNymtyNrbEYdHEg7twBm3+2cj5LZzOr2c+G8BftgtXG/vgP598v5e2bG2U9DP274\n/mKuiDuIpq+4Aey9mvCWG32706NvsW9NDpatD71cXdoPvCitBdTgqxMma45qrQzk\nYBq5MzdgU/5nioll2OUZ0ic+SO65fXa7DaIlKs8oN/SYlIUlOQ7E9FNSHnxtd6Qw\nxfkgv5qhlR9xc5BmmjJ/n9tgF+1/2lLhzv+LAICzVa+o9oLYo8t4hALe8LKRFIoN\n1FuXh/R1Vp+ydtJmWmcwC+1U2hcB98IoVhrDITjkx8Pz5eZ51ftwWgyg2VQNHJwN\nS2ik7+BN6MP+zNdtvZFWYHVNOZPA3d/T2WHfmDckOl7SMgl1lu2A4XEqqoOYqSaH\nR0BMlyKwbyPku0G3hnQ1W/hqKuCxMCXG1vOZT46ULT+gZpau/chzsT6w3/8cxJTO\nE5vjen7SD581T6iPRamNimBArBVEUwQ9ApfpcAwvcgabWBiLeH47siF5wOEr3tX4\nY5lgkxUpCkPkkaO4SKweznld38LTdxFjnNJ648MLZjn1Pb8DtDfO9bbvvMx+ZFXH\n6JGRWlq00PUlbn4hHjxZIaFGVCh5CsNMazA3na0ZNBKe1//UkvzM9yhSVGM/USzR\n2eXB4Vf8t9dqyQSitNmQJqcj7j50yJIl2AEU+5bn2azxYHKwm5q49PJ9YWlXOWZ7\ndebxgHELh50BAdvF8FchI5iMz0nzfuzCJkhWQJbuUghsaAvUbDGnam3Xv7RpkuPk\nOvLLW/YmqB3h6BQ9/w8rNWlnDp4IzWZzTowEDoEzUxnEc//6580eNaEATraxJMJD\nOHcEyXPrRyzKs02jcpKwQXwUJqWtQkdgdZqt+dhDrd8wsevY7Q1tiy0=\n-----END ENCRYPTED PRIVATE KEY-----\n','3f1d5a0b7e5c4b7d9d0d6e0b4a7f9c11','9a2b7c1d5e6f47e08f1e2d3c4b5a6978',NULL,'passphrase-2');
/*!40000 ALTER TABLE `x509keypair` ENABLE KEYS */;
UNLOCK TABLES;
COMMIT;
SET AUTOCOMMIT=@OLD_AUTOCOMMIT;
/*!40103 SET TIME_ZONE=@OLD_TIME_ZONE */;

/*!40101 SET SQL_MODE=@OLD_SQL_MODE */;
/*!40014 SET FOREIGN_KEY_CHECKS=@OLD_FOREIGN_KEY_CHECKS */;
/*!40014 SET UNIQUE_CHECKS=@OLD_UNIQUE_CHECKS */;
/*!40101 SET CHARACTER_SET_CLIENT=@OLD_CHARACTER_SET_CLIENT */;
/*!40101 SET CHARACTER_SET_RESULTS=@OLD_CHARACTER_SET_RESULTS */;
/*!40101 SET COLLATION_CONNECTION=@OLD_COLLATION_CONNECTION */;
/*M!100616 SET NOTE_VERBOSITY=@OLD_NOTE_VERBOSITY */;

-- Dump completed on 2026-11-25  0:25:52
