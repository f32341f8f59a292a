package dev.verbena.soft.functions;

import dev.verbena.raw.rdma_h;
import java.lang.foreign.Arena;
import java.util.HashMap;
import java.util.Map;

/**
 * The functions of libibverbs that convert codes to text ({@code ibv_wc_status_str}, ...) and
 * static rates ({@code ibv_rate_to_mult}, ...).
 */
final class TextFunctions {
  /** Code, multiple of 2.5 Gbit/s, Mbit/s. */
  private static final int[][] RATES = {
    {rdma_h.IBV_RATE_2_5_GBPS(), 1, 2500},
    {rdma_h.IBV_RATE_5_GBPS(), 2, 5000},
    {rdma_h.IBV_RATE_10_GBPS(), 4, 10000},
    {rdma_h.IBV_RATE_20_GBPS(), 8, 20000},
    {rdma_h.IBV_RATE_30_GBPS(), 12, 30000},
    {rdma_h.IBV_RATE_40_GBPS(), 16, 40000},
    {rdma_h.IBV_RATE_60_GBPS(), 24, 60000},
    {rdma_h.IBV_RATE_80_GBPS(), 32, 80000},
    {rdma_h.IBV_RATE_120_GBPS(), 48, 120000},
    {rdma_h.IBV_RATE_14_GBPS(), -1, 14062},
    {rdma_h.IBV_RATE_56_GBPS(), -1, 56250},
    {rdma_h.IBV_RATE_112_GBPS(), -1, 112500},
    {rdma_h.IBV_RATE_168_GBPS(), -1, 168750},
    {rdma_h.IBV_RATE_25_GBPS(), -1, 25781},
    {rdma_h.IBV_RATE_100_GBPS(), -1, 103125},
    {rdma_h.IBV_RATE_200_GBPS(), -1, 206250},
    {rdma_h.IBV_RATE_300_GBPS(), -1, 309375},
    {rdma_h.IBV_RATE_28_GBPS(), 11, 28125},
    {rdma_h.IBV_RATE_50_GBPS(), 20, 53125},
    {rdma_h.IBV_RATE_400_GBPS(), 160, 425000},
    {rdma_h.IBV_RATE_600_GBPS(), 240, 637500},
    {rdma_h.IBV_RATE_800_GBPS(), 320, 850000},
    {rdma_h.IBV_RATE_1200_GBPS(), 480, 1275000},
  };

  private static final String[] NODES = {
    "unknown",
    "InfiniBand channel adapter",
    "InfiniBand switch",
    "InfiniBand router",
    "iWARP NIC",
    "usNIC",
    "usNIC UDP",
    "unspecified"
  };

  private static final String[] PORTS = {
    "no state change (NOP)", "down", "init", "armed", "active", "active defer"
  };

  private static final String[] EVENTS = {
    "CQ error",
    "local work queue catastrophic error",
    "invalid request local work queue error",
    "local access violation work queue error",
    "communication established",
    "send queue drained",
    "path migrated",
    "path migration request error",
    "local catastrophic error",
    "port active",
    "port error",
    "LID change",
    "P_Key change",
    "SM change",
    "SRQ catastrophic error",
    "SRQ limit reached",
    "last WQE reached",
    "client reregistration",
    "GID table change",
    "WQ fatal",
    "Device link speed change"
  };

  private static final String[] STATUSES = {
    "success",
    "local length error",
    "local QP operation error",
    "local EE context operation error",
    "local protection error",
    "Work Request Flushed Error",
    "memory management operation error",
    "bad response error",
    "local access error",
    "remote invalid request error",
    "remote access error",
    "remote operation error",
    "transport retry counter exceeded",
    "RNR retry counter exceeded",
    "local RDD violation error",
    "remote invalid RD request",
    "aborted error",
    "invalid EE context number",
    "invalid EE context state",
    "fatal error",
    "response timeout error",
    "general error"
  };

  private final Map<String, Long> texts = new HashMap<>();

  private synchronized long text(String text) {
    return texts.computeIfAbsent(text, t -> Arena.global().allocateFrom(t).address());
  }

  private long text(String[] texts, int code) {
    return text(code >= 0 && code < texts.length ? texts[code] : "unknown");
  }

  public long ibv_node_type_str(int type) {
    return text(NODES, type);
  }

  public long ibv_port_state_str(int state) {
    return text(PORTS, state);
  }

  public long ibv_event_type_str(int type) {
    return text(EVENTS, type);
  }

  public long ibv_wc_status_str(int status) {
    return text(STATUSES, status);
  }

  private static int find(int column, int value, int result, int otherwise) {
    for (int[] rate : RATES) {
      if (rate[column] == value) {
        return rate[result];
      }
    }
    return otherwise;
  }

  public int ibv_rate_to_mult(int rate) {
    return find(0, rate, 1, -1);
  }

  public int mult_to_ibv_rate(int multiple) {
    return find(1, multiple, 0, rdma_h.IBV_RATE_MAX());
  }

  public int ibv_rate_to_mbps(int rate) {
    return find(0, rate, 2, -1);
  }

  public int mbps_to_ibv_rate(int mbps) {
    return find(2, mbps, 0, rdma_h.IBV_RATE_MAX());
  }
}
