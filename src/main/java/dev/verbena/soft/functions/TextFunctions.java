package dev.verbena.soft.functions;

import dev.verbena.address.Rate;
import dev.verbena.attributes.NodeType;
import dev.verbena.attributes.PortState;
import dev.verbena.internal.Codes;
import dev.verbena.values.AsyncEventType;
import dev.verbena.values.CompletionStatus;
import java.lang.foreign.Arena;
import java.util.HashMap;
import java.util.Map;

/**
 * The functions of libibverbs that convert codes to text ({@code ibv_wc_status_str}, ...) and
 * static rates ({@code ibv_rate_to_mult}, ...).
 */
final class TextFunctions {
  private final Map<String, Long> texts = new HashMap<>();

  private synchronized long text(String text) {
    return texts.computeIfAbsent(text, t -> Arena.global().allocateFrom(t).address());
  }

  public long ibv_node_type_str(int type) {
    return text(Codes.of(NodeType.class, type, NodeType.UNKNOWN).text());
  }

  public long ibv_port_state_str(int state) {
    return text(Codes.of(PortState.class, state, PortState.UNKNOWN).text());
  }

  public long ibv_event_type_str(int type) {
    return text(Codes.of(AsyncEventType.class, type, AsyncEventType.UNKNOWN).text());
  }

  public long ibv_wc_status_str(int status) {
    return text(Codes.of(CompletionStatus.class, status, CompletionStatus.UNKNOWN).text());
  }

  private static Rate rate(int code) {
    return Codes.of(Rate.class, code, Rate.MAX);
  }

  public int ibv_rate_to_mult(int rate) {
    return rate(rate).multiple();
  }

  public int mult_to_ibv_rate(int multiple) {
    return Rate.ofMultiple(multiple).code();
  }

  public int ibv_rate_to_mbps(int rate) {
    return rate(rate).megabitsPerSecond();
  }

  public int mbps_to_ibv_rate(int mbps) {
    return Rate.ofMegabitsPerSecond(mbps).code();
  }
}
