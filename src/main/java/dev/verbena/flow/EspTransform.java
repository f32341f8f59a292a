package dev.verbena.flow;

import dev.verbena.NativeFlag;
import dev.verbena.internal.Ranges;
import dev.verbena.raw.ib_uverbs_flow_action_esp;
import dev.verbena.raw.ib_uverbs_flow_action_esp_encap;
import dev.verbena.raw.ib_uverbs_flow_action_esp_keymat_aes_gcm;
import dev.verbena.raw.ib_uverbs_flow_action_esp_replay_bmp;
import dev.verbena.raw.ibv_flow_action_esp_attr;
import dev.verbena.raw.rdma_h;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.util.List;
import java.util.Objects;
import java.util.Set;

/**
 * The encryption or decryption of the ESP packets of a flow: {@code struct
 * ibv_flow_action_esp_attr}. Create a {@link FlowAction} with it.
 */
public final class EspTransform {
  private Association association;
  private AesGcm key;
  private int replayWindow;
  private List<FlowMatch> encapsulation = List.of();
  private Integer extendedSequence;

  /** Creates a transformation without attributes. */
  public EspTransform() {}

  /** How the transformation works: {@code enum ib_uverbs_flow_action_esp_flags}. */
  public enum Flag implements NativeFlag {
    /** The device adds and removes the headers, besides the encryption. */
    FULL_OFFLOAD(rdma_h.IBV_FLOW_ACTION_ESP_FLAGS_FULL_OFFLOAD()),
    /** Transport mode instead of tunnel mode. */
    TRANSPORT(rdma_h.IBV_FLOW_ACTION_ESP_FLAGS_TRANSPORT()),
    /** Encrypts instead of decrypting. */
    ENCRYPT(rdma_h.IBV_FLOW_ACTION_ESP_FLAGS_ENCRYPT()),
    /** The extended sequence number starts a new window. */
    ESN_NEW_WINDOW(rdma_h.IBV_FLOW_ACTION_ESP_FLAGS_ESN_NEW_WINDOW());

    private final long bit;

    Flag(int bit) {
      this.bit = bit;
    }

    @Override
    public long bit() {
      return bit;
    }
  }

  /**
   * The security association: {@code struct ib_uverbs_flow_action_esp}. The values other than the
   * flags are only used with {@link Flag#FULL_OFFLOAD}.
   *
   * @param flags the flags
   * @param index the security parameters index (SPI)
   * @param sequence the first sequence number
   * @param padding the number of padding bytes for traffic flow confidentiality
   * @param hardLimit the number of packets after which the association ends
   */
  public record Association(Set<Flag> flags, int index, int sequence, int padding, long hardLimit) {
    /** Copies the flags. */
    public Association {
      flags = Set.copyOf(flags);
    }
  }

  /**
   * An AES-GCM key: {@code struct ib_uverbs_flow_action_esp_keymat_aes_gcm}.
   *
   * @param key 16, 24 or 32 bytes
   * @param salt the salt
   * @param vector the first initialization vector
   * @param checkLength the length of the integrity check value in bytes
   */
  public record AesGcm(byte[] key, int salt, long vector, int checkLength) {
    private static final Set<Integer> LENGTHS = Set.of(16, 24, 32);

    /** Copies the key. */
    public AesGcm {
      if (!LENGTHS.contains(key.length)) {
        throw new IllegalArgumentException("AES key must have 16, 24 or 32 bytes: " + key.length);
      }
      key = key.clone();
    }

    /** {@return a copy of the key} */
    @Override
    public byte[] key() {
      return key.clone();
    }

    /** Does not contain the key. */
    @Override
    public String toString() {
      return "AES-GCM key of " + key.length + " bytes";
    }
  }

  /**
   * Sets the security association.
   *
   * @param association the security association
   * @return this
   */
  public EspTransform association(Association association) {
    this.association = Objects.requireNonNull(association, "association");
    return this;
  }

  /**
   * Sets the key.
   *
   * @param key the key
   * @return this
   */
  public EspTransform key(AesGcm key) {
    this.key = Objects.requireNonNull(key, "key");
    return this;
  }

  /**
   * Sets the replay window, with {@link Flag#FULL_OFFLOAD}: packets that were received before are
   * dropped.
   *
   * @param size the size of the window in packets
   * @return this
   */
  public EspTransform replayWindow(int size) {
    this.replayWindow = Ranges.positive(size, "size of the replay window");
    return this;
  }

  /**
   * Sets the headers that encapsulate ESP packets, with {@link Flag#FULL_OFFLOAD}.
   *
   * @param headers the headers, outermost first
   * @return this
   */
  public EspTransform encapsulation(FlowMatch... headers) {
    this.encapsulation = List.of(headers);
    return this;
  }

  /**
   * Sets the initial extended sequence number.
   *
   * @param number its upper 32 bits
   * @return this
   */
  public EspTransform extendedSequence(int number) {
    this.extendedSequence = number;
    return this;
  }

  /**
   * Returns the C struct. A new action requires an association and a key, a modification does not.
   */
  MemorySegment allocate(Arena arena, boolean complete) {
    if (complete && (association == null || key == null)) {
      throw new IllegalStateException("ESP requires association() and key()");
    }
    MemorySegment attr = ibv_flow_action_esp_attr.allocate(arena);
    if (association != null) {
      ibv_flow_action_esp_attr.esp_attr(attr, allocateAssociation(arena));
    }
    if (key != null) {
      MemorySegment material = allocateKey(arena);
      ibv_flow_action_esp_attr.keymat_proto(attr, rdma_h.IBV_FLOW_ACTION_ESP_KEYMAT_AES_GCM());
      ibv_flow_action_esp_attr.keymat_len(attr, (short) material.byteSize());
      ibv_flow_action_esp_attr.keymat_ptr(attr, material);
    }
    if (replayWindow > 0) {
      MemorySegment replay = ib_uverbs_flow_action_esp_replay_bmp.allocate(arena);
      ib_uverbs_flow_action_esp_replay_bmp.size(replay, replayWindow);
      ibv_flow_action_esp_attr.replay_proto(attr, rdma_h.IBV_FLOW_ACTION_ESP_REPLAY_BMP());
      ibv_flow_action_esp_attr.replay_len(attr, (short) replay.byteSize());
      ibv_flow_action_esp_attr.replay_ptr(attr, replay);
    }
    ibv_flow_action_esp_attr.esp_encap(attr, allocateEncapsulation(arena));
    if (extendedSequence != null) {
      ibv_flow_action_esp_attr.comp_mask(attr, rdma_h.IBV_FLOW_ACTION_ESP_MASK_ESN());
      ibv_flow_action_esp_attr.esn(attr, extendedSequence);
    }
    return attr;
  }

  private MemorySegment allocateAssociation(Arena arena) {
    MemorySegment esp = ib_uverbs_flow_action_esp.allocate(arena);
    ib_uverbs_flow_action_esp.flags(esp, (int) NativeFlag.mask(association.flags()));
    ib_uverbs_flow_action_esp.spi(esp, association.index());
    ib_uverbs_flow_action_esp.seq(esp, association.sequence());
    ib_uverbs_flow_action_esp.tfc_pad(esp, association.padding());
    ib_uverbs_flow_action_esp.hard_limit_pkts(esp, association.hardLimit());
    return esp;
  }

  private MemorySegment allocateKey(Arena arena) {
    MemorySegment material = ib_uverbs_flow_action_esp_keymat_aes_gcm.allocate(arena);
    ib_uverbs_flow_action_esp_keymat_aes_gcm.iv(material, key.vector());
    ib_uverbs_flow_action_esp_keymat_aes_gcm.iv_algo(
        material, rdma_h.IBV_FLOW_ACTION_IV_ALGO_SEQ());
    ib_uverbs_flow_action_esp_keymat_aes_gcm.salt(material, key.salt());
    ib_uverbs_flow_action_esp_keymat_aes_gcm.icv_len(material, key.checkLength());
    ib_uverbs_flow_action_esp_keymat_aes_gcm.key_len(material, key.key().length);
    MemorySegment.copy(
        key.key(),
        0,
        material,
        ValueLayout.JAVA_BYTE,
        ib_uverbs_flow_action_esp_keymat_aes_gcm.aes_key$offset(),
        key.key().length);
    return material;
  }

  /** A linked list, built from its end. */
  private MemorySegment allocateEncapsulation(Arena arena) {
    MemorySegment next = MemorySegment.NULL;
    for (FlowMatch header : encapsulation.reversed()) {
      MemorySegment fields = header.spec().fields();
      MemorySegment values = arena.allocate(fields.byteSize(), Long.BYTES).copyFrom(fields);
      MemorySegment encap = ib_uverbs_flow_action_esp_encap.allocate(arena);
      ib_uverbs_flow_action_esp_encap.val_ptr(encap, values);
      ib_uverbs_flow_action_esp_encap.len(encap, (short) values.byteSize());
      ib_uverbs_flow_action_esp_encap.type(encap, (short) header.spec().type());
      ib_uverbs_flow_action_esp_encap.next_ptr(encap, next);
      next = encap;
    }
    return next;
  }
}
