package dev.verbena;

/** An enum constant for a constant of C, such as one of {@code enum ibv_qp_state}. */
public interface NativeConstant {
  /** {@return the value of the constant in C} */
  int code();
}
